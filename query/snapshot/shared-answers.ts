import type { Metrics } from '../../infra/metrics.ts';
import type { QuestionScope } from './question.ts';
import { SharedRuns } from './shared-runs.ts';

/**
 * Equal questions within this time after the first began share its answer and its range. Hot rows are shared for as
 * long (`hot-view.ts`), so an answer has everything that was acknowledged twice this time before its question.
 */
const SHARED_MS = 100;

/** A question about a site. */
interface AskedQuestion {
  readonly path: string;
  readonly scope: QuestionScope;
  readonly parameters: unknown;
  readonly pathValues?: unknown;
}

/** Answers equal questions of the same moment once: several people look at one dashboard, and a page asks twice. */
export class SharedAnswers {
  readonly #runs: SharedRuns;

  constructor(metrics: Metrics) {
    this.#runs = new SharedRuns({
      shared: metrics.counter(
        'query_answers_shared_total',
        'questions that were answered together with an equal one',
      ),
      sharedMs: SHARED_MS,
    });
  }

  /** The shared answer of an equal question, or the result of `answer`. Callers must not change it. */
  answer<Answer>(
    { path, scope: { site, definitions }, parameters, pathValues }: AskedQuestion,
    answer: () => Promise<Answer>,
  ): Promise<Answer> {
    const name = `${site.storedId} ${path}`;
    return this.#runs.result({ name, what: [site, definitions, parameters, pathValues] }, answer);
  }
}
