import { addFigures, type FigureRow, type Figures, type RangeFigures } from '../figures.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, type Seam } from '../snapshot/seam.ts';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import type { Range } from '../time/range.ts';
import { KnownMembers } from './known-members.ts';
import type { QuestionParts } from './question-parts.ts';
import { SharedCache } from './shared-cache.ts';

const BUCKET_BYTES = 300;
/** Fewer finalized sessions are counted as fast together with the rest. */
const SESSIONS_MIN = 50_000;
/** The name of the set of a whole span, beside those of its buckets. */
const WHOLE = 'whole';

/** A row of `metrics-filtered`: of a span or, unless `isTotal`, of a bucket. */
interface FilteredRow extends FigureRow {
  readonly isCurrent: number;
  readonly isTotal: number;
  readonly edge: number;
  readonly visitors: number;
}

/** A bucket with its visitors. */
interface VisitorsRow extends FigureRow {
  readonly edge: number;
  readonly visitorHashes: readonly number[];
}

interface CachedSpan {
  readonly kind: 'figures';
  readonly previous: Figures;
  readonly total: FilteredRow | undefined;
  readonly byEdge: ReadonlyMap<number, FilteredRow>;
  readonly members: KnownMembers;
}

const NOT_CACHED = { kind: 'not-cached' } as const;
type SpanEntry = CachedSpan | typeof NOT_CACHED;

/** The figures of ranges with filters on sessions, of which the finalized part is cached. */
export class FilteredFigures {
  readonly #cache: SharedCache<SpanEntry>;
  readonly #sessionsMin: number;

  /** @param sessionsMin with fewer, nothing is cached; 0: everything is, from the first question on */
  constructor(bytesMax: number, sessionsMin = SESSIONS_MIN) {
    this.#cache = new SharedCache(bytesMax, (cached) =>
      cached.kind === 'figures' ? cached.byEdge.size * BUCKET_BYTES + cached.members.bytes : 0,
    );
    this.#sessionsMin = sessionsMin;
  }

  /** Evicts everything of a site. */
  evict(storedId: string): void {
    this.#cache.evict(storedId);
  }

  /** Undefined where one statement over everything answers as fast, or the rest has too many visitors. */
  async ask(
    history: StatementRunner,
    { key, finalized: statement, rows: rest, members: asking }: QuestionParts,
    { buckets }: Pick<Range, 'buckets'>,
    seam: Seam,
  ): Promise<RangeFigures | undefined> {
    if (this.#cache.peek(key) === NOT_CACHED) return undefined;
    if (this.#sessionsMin > 0 && !this.#cache.isAskedAgain(key)) return undefined;
    const [finalized, rows] = await Promise.all([
      this.#cache.get(key, async () => {
        const found = await history.ask<FilteredRow>(statement, FINALIZED_SEAM);
        return finalizedOf(found, this.#sessionsMin);
      }),
      history.ask<VisitorsRow>(rest, seam),
    ]);
    if (finalized.kind === 'not-cached') return undefined;
    const visitors = new Set(rows.flatMap(({ visitorHashes }) => visitorHashes));
    if (visitors.size > ROW_HASHES_MAX || finalized.members.size > 3 * ROW_HASHES_MAX) {
      this.#cache.replace(key, finalized, NOT_CACHED);
      return undefined;
    }
    const wanted = new Map<string, readonly number[]>([[WHOLE, [...visitors]]]);
    for (const { edge, visitorHashes } of rows)
      if (finalized.byEdge.has(edge)) wanted.set(String(edge), visitorHashes);
    const outside = await finalized.members.countOutside(wanted, async (unknown) => {
      const asked = [...new Set([...unknown.values()].flat())];
      const parameters = { ...asking.parameters, asked };
      const found = await history.ask<VisitorsRow>({ ...asking, parameters }, FINALIZED_SEAM);
      return new Map([
        ...found.map((row) => [String(row.edge), row.visitorHashes] as const),
        [WHOLE, found.flatMap(({ visitorHashes }) => visitorHashes)],
      ]);
    });
    this.#cache.replace(key, finalized);
    const rowByEdge = new Map(rows.map((row) => [row.edge, row]));
    const whole = (finalized.total?.visitors ?? 0) + (outside.get(WHOLE) ?? 0);
    return {
      previous: finalized.previous,
      current: addFigures([finalized.total, ...rows], whole),
      buckets: buckets.map(({ fromMs }) => {
        const [before, row] = [finalized.byEdge.get(fromMs), rowByEdge.get(fromMs)];
        const added = outside.get(String(fromMs)) ?? row?.visitorHashes.length ?? 0;
        return addFigures([before, row], (before?.visitors ?? 0) + added);
      }),
    };
  }
}

function finalizedOf(rows: readonly FilteredRow[], sessionsMin: number): SpanEntry {
  const totals = rows.filter(({ isTotal }) => isTotal === 1);
  const [before, total] = [0, 1].map((isCurrent) => totals.find((row) => row.isCurrent === isCurrent));
  if ((before?.sessions ?? 0) + (total?.sessions ?? 0) < sessionsMin) return NOT_CACHED;
  const buckets = rows.filter(({ isTotal, isCurrent }) => isTotal === 0 && isCurrent === 1);
  return {
    kind: 'figures',
    previous: addFigures([before], before?.visitors ?? 0),
    total,
    byEdge: new Map(buckets.map((row) => [row.edge, row])),
    members: new KnownMembers(),
  };
}
