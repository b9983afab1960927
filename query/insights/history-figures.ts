import type { StoreParameters } from '../../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { addFigures, type FigureRow, type Figures } from '../figures.ts';
import type { Filter } from '../filters/filter.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import { countWith } from '../rollups/rollup-cache.ts';
import { askRollupFigures, FiguresCache } from '../rollups/rollup-figures.ts';
import {
  finalizedKeyOf,
  openEdgesOf,
  type RollupSpans,
  rollupKeyOf,
  rollupSpans,
  rollupsBeside,
} from '../rollups/rollup-spans.ts';
import type { History } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Range } from '../time/range.ts';

/** The figures of a range: of all of it, of the span before, and of each bucket in order. */
export interface RangeFigures {
  readonly current: Figures;
  readonly previous: Figures;
  readonly buckets: readonly Figures[];
}

/** What happened in a bucket, or in a whole span; and, of the hours that were read from sums, what began. */
interface EventRow extends FigureRow {
  readonly isCurrent: number;
  readonly isTotal: number;
  readonly edge: number;
  readonly visitors: number;
}

/** What happened in a bucket by rows alone, and who was there. */
interface RowEventRow extends FigureRow {
  readonly edge: number;
  readonly visitorHashes: readonly number[];
}

/** What began in a bucket by rows. */
interface SessionRow extends FigureRow {
  readonly edge: number;
}

/** Whose figures, and of which of the site's events and sessions. */
export interface FiguresQuestion {
  readonly projectId: string;
  readonly filters: readonly Filter[];
}

type Asks = Pick<History, 'ask'>;

/**
 * Counts a range over history and hot rows: what happened by events, and what began by sessions. The span before is
 * filtered by itself. Without filters, hours that are summed up are not counted again, and what their sums say is kept.
 */
export async function historyFigures(
  history: Asks,
  { projectId, filters }: FiguresQuestion,
  range: Range,
  seam: Seam,
  kept = new FiguresCache(),
): Promise<RangeFigures> {
  const { span, previous } = range;
  const conditions = insightConditions(filters, range);
  const edges = [previous.fromMs, ...range.buckets.map(({ fromMs }) => fromMs)];
  const parameters = {
    ...conditions.parameters,
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    previousFrom: previous.fromMs,
    previousTo: previous.toMs,
    edges,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
  };
  const asked = { projectId, spans: [previous, span], edges, hoursFromMs: 0, days: false };
  const sums = filters.length > 0 ? undefined : await rollupSpans(history, asked, seam);
  if (sums === undefined) {
    const [events, sessions] = await Promise.all([
      history.ask<EventRow>('metrics-events', parameters, seam, conditions),
      history.ask<SessionRow>('metrics-sessions', parameters, seam, conditions),
    ]);
    return combine(range, events, sessions);
  }
  const hours = finalizedKeyOf(sums, previous);
  const key = hours === undefined ? undefined : `${projectId} ${previous.fromMs} ${hours}`;
  const before = key === undefined ? undefined : kept.spans.get(key);
  const current = before && (await withCachedRollups(history, { parameters, sums, range }, seam, kept));
  if (before !== undefined && current !== undefined) return { ...current, previous: before };
  const [events, sessions] = await Promise.all([
    history.ask<EventRow>('metrics-events-rollup', { ...parameters, ...sums }, seam),
    history.ask<SessionRow>('metrics-sessions-rows', { ...parameters, ...sums }, seam),
  ]);
  const figures = combine(range, events, sessions);
  if (key !== undefined) kept.spans.set(key, figures.previous);
  return figures;
}

interface RollupQuestion {
  readonly parameters: StoreParameters & { readonly site: string; readonly edges: readonly number[] };
  readonly sums: RollupSpans;
  readonly range: Range;
}

/**
 * The figures of a range without the span before, from what is kept of its sums, and from rows. Undefined when there are
 * too many visitors to tell here who of the rows' are among those of the sums.
 */
async function withCachedRollups(
  history: Asks,
  { parameters, sums, range }: RollupQuestion,
  seam: Seam,
  kept: FiguresCache,
): Promise<Omit<RangeFigures, 'previous'> | undefined> {
  const { span, previous, buckets } = range;
  const openEdges = openEdgesOf(sums, buckets, span.toMs);
  const hours = rollupKeyOf(sums, span);
  const key = [parameters.site, hours, parameters.edges.join(' '), openEdges.join(' ')].join('|');
  if (kept.sums.hasTooMany(key)) return undefined;
  const bound = { ...parameters, ...rollupsBeside(sums, previous), previousTo: previous.fromMs };
  const { hashesMax } = kept.sums;
  const [settled, events, sessions] = await Promise.all([
    kept.sums.get(key, () => askRollupFigures(history, { ...bound, openEdges, hashesMax })),
    history.ask<RowEventRow>('metrics-events-rows', bound, seam),
    history.ask<SessionRow>('metrics-sessions-rows', bound, seam),
  ]);
  const everybody = new Set(events.flatMap(({ visitorHashes }) => visitorHashes));
  if (settled === undefined || kept.sums.noteRows(key, everybody.size)) return undefined;
  const { total } = settled;
  const eventsByEdge = byEdge(events);
  const sessionsByEdge = byEdge(sessions);
  return {
    current: addFigures([total?.row, ...events, ...sessions], countWith(total?.visitors, everybody)),
    buckets: buckets.map(({ fromMs }) => {
      const [summed, row] = [settled.buckets.get(fromMs), eventsByEdge.get(fromMs)];
      const visitors = countWith(summed?.visitors, row?.visitorHashes ?? []);
      return addFigures([summed?.row, row, sessionsByEdge.get(fromMs)], visitors);
    }),
  };
}

function combine(range: Range, events: readonly EventRow[], sessions: readonly SessionRow[]): RangeFigures {
  const totals = events.filter(({ isTotal }) => isTotal === 1);
  const eventsByEdge = byEdge(events.filter(({ isTotal }) => isTotal === 0));
  const sessionsByEdge = byEdge(sessions);
  const [before, current] = [0, 1].map((isCurrent) => totals.find((row) => row.isCurrent === isCurrent));
  const begunBefore = sessionsByEdge.get(range.previous.fromMs);
  // Sessions add up over buckets, because each began in one.
  const begun = sessions.filter((row) => row !== begunBefore);
  return {
    current: addFigures([current, ...begun], current?.visitors ?? 0),
    previous: addFigures([before, begunBefore], before?.visitors ?? 0),
    buckets: range.buckets.map(({ fromMs }) => {
      const row = eventsByEdge.get(fromMs);
      return addFigures([row, sessionsByEdge.get(fromMs)], row?.visitors ?? 0);
    }),
  };
}

function byEdge<Row extends { readonly edge: number }>(rows: readonly Row[]): ReadonlyMap<number, Row> {
  return new Map(rows.map((row) => [row.edge, row]));
}
