import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { Otherwise } from '../ways.ts';
import type { BucketVisitors } from './added-visitors.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import type { VisitParts } from './question-parts.ts';

/** A row with a visitor's days. */
const ROW_BYTES = 100;

/** Visitors of a day, numbered from 1, by the days until their next visit. `windowMax` means `windowMax` days, more, or never. */
export type VisitRow = AnswerRow<'active-users'>;

/** The days to count, and the maximum distance between two visits. */
export interface VisitWindows {
  /** Start of each day, ascending. */
  readonly edges: readonly number[];
  readonly windowMax: number;
}

/** The visits of the finalized hours. */
interface CachedVisits {
  readonly rows: readonly VisitRow[];
  /** The finalized days of the rows' visitors, ascending; empty for new visitors. */
  readonly daysByVisitor: Map<number, readonly number[]>;
}

/**
 * Visits of finalized hours, cached, plus the visits of rows. A visitor of the rows may have finalized visits, too:
 * then all days of this visitor are counted anew. The store is asked once for the finalized days of each visitor.
 */
export class FinalizedVisits {
  readonly #cache: FinalizedCache<CachedVisits>;
  readonly #knownMax: number;

  constructor(space: CacheSpace, knownMax = ROW_HASHES_MAX) {
    this.#cache = new FinalizedCache({
      ...{ space, kind: 'visits' },
      bytesOf: ({ rows, daysByVisitor }) => (rows.length + daysByVisitor.size) * ROW_BYTES,
      isEager: false,
    });
    this.#knownMax = knownMax;
  }

  /** All visits; several rows may have the same day and distance. None when the rows have too many visitors. */
  async ask(
    history: StatementRunner,
    { key, finalized, members, rows }: VisitParts,
    windows: VisitWindows,
    seam: Seam,
  ): Promise<readonly VisitRow[] | Otherwise> {
    return this.#cache.ask(key, {
      load: () => askFinalized(history, finalized),
      askRest: () => history.ask(rows, seam),
      merge: async (cached, fresh) => {
        const freshDays = daysByVisitor(fresh, windows);
        const { daysByVisitor: known } = cached;
        const unknown = [...freshDays.keys()].filter((visitor) => !known.has(visitor));
        if (known.size + unknown.length > this.#knownMax) return new Otherwise('too-many');
        if (unknown.length > 0) {
          const statement = { ...members, parameters: { ...members.parameters, asked: unknown } };
          const found = await history.ask(statement, FINALIZED_SEAM);
          for (const visitor of unknown) known.set(visitor, []);
          for (const { visitor, days } of found) known.set(visitor, days);
        }
        return [...cached.rows, ...changedBy(freshDays, known, windows)];
      },
    });
  }
}

async function askFinalized(
  history: StatementRunner,
  finalized: VisitParts['finalized'],
): Promise<CachedVisits> {
  return {
    rows: await history.ask(finalized, FINALIZED_SEAM),
    daysByVisitor: new Map(),
  };
}

/** The days of each visitor of the rows, ascending. */
function daysByVisitor(
  rows: readonly BucketVisitors[],
  { edges }: VisitWindows,
): ReadonlyMap<number, readonly number[]> {
  const dayByEdge = new Map(edges.map((edge, index) => [edge, index + 1]));
  const days = new Map<number, number[]>();
  for (const { edge, visitorHashes } of [...rows].sort((a, b) => a.edge - b.edge)) {
    const day = dayByEdge.get(edge) ?? 0;
    for (const visitor of visitorHashes) {
      const known = days.get(visitor);
      if (known === undefined) days.set(visitor, [day]);
      else known.push(day);
    }
  }
  return days;
}

/** The change by the visitors of the rows: minus their finalized visits, plus all of their visits. */
function changedBy(
  fresh: ReadonlyMap<number, readonly number[]>,
  finalized: ReadonlyMap<number, readonly number[]>,
  { windowMax }: VisitWindows,
): readonly VisitRow[] {
  const changes = new Map<number, number>();
  const change = (days: readonly number[], visitors: number) => {
    for (const [index, day] of days.entries()) {
      const next = days[index + 1] ?? Number.POSITIVE_INFINITY;
      const place = day * (windowMax + 1) + Math.min(next - day, windowMax);
      changes.set(place, (changes.get(place) ?? 0) + visitors);
    }
  };
  for (const [visitor, days] of fresh) {
    const before = finalized.get(visitor) ?? [];
    change(before, -1);
    change(
      [...new Set([...before, ...days])].sort((a, b) => a - b),
      1,
    );
  }
  return [...changes].map(([place, visitors]) => ({
    day: Math.floor(place / (windowMax + 1)),
    daysUntilNext: place % (windowMax + 1),
    visitors,
  }));
}
