import type { Metrics } from '../../infra/metrics.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import { Requester } from './requester.ts';
import type { Seam } from './seam.ts';
import { SharedRuns } from './shared-runs.ts';
import type { StatementTexts } from './statement-texts.ts';

/** Equal statements have all of these equal. */
interface Shareable {
  readonly name: string;
  readonly parameters: StoreParameters;
  readonly texts?: StatementTexts | undefined;
  readonly rowsMax?: number | undefined;
}

/**
 * Runs simultaneous equal statements over one seam once: the cards of a dashboard look up the same rollups. A seam is
 * shared only for a moment (`hot-view.ts`), so no answer is older than its question allows.
 */
export class SharedStatements {
  readonly #runs: SharedRuns;

  constructor(metrics: Metrics) {
    this.#runs = new SharedRuns({
      shared: metrics.counter(
        'query_statements_shared_total',
        'statements that were not run, because an equal one ran',
      ),
      waiting: (wait) => Requester.during('store', wait),
    });
  }

  /** The rows of an equal statement that runs, or of `run`. Callers must not change them. */
  rows<Row>(statement: Shareable, seam: Seam, run: () => Promise<Row[]>): Promise<Row[]> {
    const { name, parameters, texts, rowsMax } = statement;
    return this.#runs.result({ name, what: [parameters, texts, rowsMax], over: seam }, run);
  }
}
