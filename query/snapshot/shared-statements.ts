import { isDeepStrictEqual } from 'node:util';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import { RejectError, type RejectReason } from '../reject.ts';
import { Requester } from './requester.ts';
import type { Seam } from './seam.ts';
import type { StatementTexts } from './statement-texts.ts';

/** Why a statement was not run for one client, which says nothing to another: it has gone, or has waited for too long. */
const OF_ONE_CLIENT: ReadonlySet<string> = new Set<RejectReason>(['left', 'waited']);

/** What makes a statement equal to another one. */
interface Shareable {
  readonly name: string;
  readonly parameters: StoreParameters;
  readonly texts?: StatementTexts | undefined;
  readonly rowsMax?: number | undefined;
}

interface RunningStatement extends Shareable {
  readonly seam: Seam;
  readonly rows: Promise<unknown[]>;
}

/**
 * Equal statements over one seam that are asked at the same time run once: the cards of a dashboard look up the same rollups,
 * and several people look at one dashboard. A seam is shared for a moment only (`hot-view.ts`), so no answer is older than its question may
 * be. Nothing stays in memory once a statement has ended.
 */
export class SharedStatements {
  readonly #running = new Map<string, Set<RunningStatement>>();
  readonly #shared: Counter;

  constructor(metrics: Metrics) {
    this.#shared = metrics.counter(
      'query_statements_shared_total',
      'statements that were not run, because an equal one ran',
    );
  }

  /** The rows of an equal statement that runs, or of `run`. They are shared, so nobody may change them. */
  async rows<Row>(statement: Shareable, seam: Seam, run: () => Promise<Row[]>): Promise<Row[]> {
    const { name, parameters, texts, rowsMax } = statement;
    const what = [parameters, texts, rowsMax];
    const sameName = this.#running.get(name) ?? new Set();
    for (const other of sameName) {
      if (other.seam !== seam || !isDeepStrictEqual([other.parameters, other.texts, other.rowsMax], what))
        continue;
      this.#shared.add();
      try {
        return (await Requester.during('store', other.rows)) as Row[];
      } catch (error) {
        if (error instanceof RejectError && OF_ONE_CLIENT.has(error.reason)) return run();
        throw error;
      }
    }
    const running: RunningStatement = { name, parameters, texts, rowsMax, seam, rows: run() };
    this.#running.set(name, sameName.add(running));
    try {
      return (await running.rows) as Row[];
    } finally {
      sameName.delete(running);
      if (sameName.size === 0) this.#running.delete(name);
    }
  }
}
