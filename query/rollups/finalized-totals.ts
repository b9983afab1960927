import type { StoredId } from '../../infra/accounts/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { CountedParts } from './question-parts.ts';
import { SharedCache } from './shared-cache.ts';

interface Counted {
  readonly events: number;
}

/** The number of events in a span: cached for the finalized days, counted for the other hours. */
export class FinalizedTotals {
  readonly #cache: SharedCache<Counted>;

  constructor(bytesMax: number) {
    // Eager, because counting only the days takes no longer than counting them with the rest.
    this.#cache = new SharedCache({ bytesMax, bytesOf: () => 0, isEager: true });
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    this.#cache.evict(storedId);
  }

  async ask(history: StatementRunner, { key, finalized, rows }: CountedParts, seam: Seam): Promise<number> {
    const [cached, fresh] = await Promise.all([
      this.#cache.get(key, async () => (await history.ask<Counted>(finalized, FINALIZED_SEAM))[0]),
      history.ask<Counted>(rows, seam),
    ]);
    return (cached?.events ?? 0) + (fresh[0]?.events ?? 0);
  }
}
