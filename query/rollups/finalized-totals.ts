import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { CountedParts } from './question-parts.ts';
import { SharedCache } from './shared-cache.ts';

interface Counted {
  readonly events: number;
}

/** How many events the finalized days of a span have, cached, with those of its other hours added. */
export class FinalizedTotals {
  readonly #cache: SharedCache<Counted>;

  constructor(bytesMax: number) {
    // Counting the days alone takes no longer than counting them with the rest.
    this.#cache = new SharedCache({ bytesMax, bytesOf: () => 0, isEager: true });
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
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
