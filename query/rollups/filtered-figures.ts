import { addFigures, type Figures, type RangeFigures } from '../figures.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Range } from '../time/range.ts';
import { Otherwise } from '../ways.ts';
import { countAdded } from './added-visitors.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';
import { KnownMembers } from './known-members.ts';
import type { FilteredMetricsParts } from './question-parts.ts';

const BUCKET_BYTES = 300;
/** With fewer finalized sessions, counting them with the rest is as fast. */
const SESSIONS_MIN = 50_000;

/** With `isTotal`, the figures of a span; otherwise of a bucket. */
type FilteredRow = AnswerRow<'metrics-filtered'>;

interface CachedSpan {
  readonly previous: Figures;
  readonly total: FilteredRow | undefined;
  readonly byEdge: ReadonlyMap<number, FilteredRow>;
  readonly members: KnownMembers;
}

/** The figures of ranges with filters on sessions. The finalized part is cached. */
export class FilteredFigures {
  readonly #cache: FinalizedCache<CachedSpan>;
  readonly #sessionsMin: number;

  /** @param sessionsMin with fewer, nothing is cached; 0 caches everything, from the first question on */
  constructor(space: CacheSpace, sessionsMin = SESSIONS_MIN) {
    this.#cache = new FinalizedCache({
      ...{ space, kind: 'filtered-figures' },
      bytesOf: ({ byEdge, members }) => byEdge.size * BUCKET_BYTES + members.bytes,
      isEager: sessionsMin === 0,
    });
    this.#sessionsMin = sessionsMin;
  }

  /** None when one statement over everything is as fast, or the rest has too many visitors. */
  async ask(
    history: StatementRunner,
    { key, finalized: statement, rows: rest, members: asking }: FilteredMetricsParts,
    { buckets }: Pick<Range, 'buckets'>,
    seam: Seam,
  ): Promise<RangeFigures | Otherwise> {
    return this.#cache.ask(key, {
      load: async () => {
        const found = await history.ask(statement, FINALIZED_SEAM);
        return finalizedOf(found, this.#sessionsMin);
      },
      askRest: () => history.ask(rest, seam),
      merge: async ({ previous, total, byEdge, members }, rows) => {
        const added = await countAdded(
          members,
          rows,
          (edge) => byEdge.has(edge),
          (asked) => history.ask({ ...asking, parameters: { ...asking.parameters, asked } }, FINALIZED_SEAM),
        );
        if (added instanceof Otherwise) return added;
        const rowByEdge = new Map(rows.map((row) => [row.edge, row]));
        return {
          previous,
          current: addFigures([total, ...rows], (total?.visitors ?? 0) + added.whole),
          buckets: buckets.map(({ fromMs }) => {
            const before = byEdge.get(fromMs);
            const visitors = (before?.visitors ?? 0) + (added.byEdge.get(fromMs) ?? 0);
            return addFigures([before, rowByEdge.get(fromMs)], visitors);
          }),
        };
      },
    });
  }
}

/** None with too few sessions. */
function finalizedOf(rows: readonly FilteredRow[], sessionsMin: number): CachedSpan | Otherwise {
  const totals = rows.filter(({ isTotal }) => isTotal === 1);
  const [before, total] = [0, 1].map((isCurrent) => totals.find((row) => row.isCurrent === isCurrent));
  if ((before?.sessions ?? 0) + (total?.sessions ?? 0) < sessionsMin) return new Otherwise('few-finalized');
  const buckets = rows.filter(({ isTotal, isCurrent }) => isTotal === 0 && isCurrent === 1);
  return {
    previous: addFigures([before], before?.visitors ?? 0),
    total,
    byEdge: new Map(buckets.map((row) => [row.edge, row])),
    members: new KnownMembers(),
  };
}
