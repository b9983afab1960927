import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import type { TotalParts } from './question-parts.ts';

type Counted = AnswerRow<'event-total-rollup'>;

const NOTHING: Counted = { events: 0 };

/** The number of events in a span: cached for the finalized days, counted for the other hours. */
export class FinalizedTotals {
  readonly #cache: FinalizedCache<Counted>;

  constructor(space: CacheSpace) {
    // Eager, because counting only the days takes no longer than counting them with the rest.
    this.#cache = new FinalizedCache({ space, kind: 'totals', bytesOf: () => 0, isEager: true });
  }

  async ask(history: StatementRunner, { key, finalized, rows }: TotalParts, seam: Seam): Promise<number> {
    const [cached, fresh] = await Promise.all([
      this.#cache.getOrLoad(key, async () => (await history.ask(finalized, FINALIZED_SEAM))[0] ?? NOTHING),
      history.ask(rows, seam),
    ]);
    return cached.events + (fresh[0]?.events ?? 0);
  }
}
