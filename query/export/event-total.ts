import type { StoredId } from '../../infra/accounts/ids.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { NAMES_ROLLUP } from '../../processor/rows.ts';
import { NO_HOURS, planEventTotal, planLookup } from '../plan/plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import type { FinalizedTotals } from '../rollups/finalized-totals.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Span } from '../time/range.ts';
import { Otherwise } from '../ways.ts';
import type { EventPage } from './event-page.ts';

/** Maximum number of days in one lookup of rollups, somewhat fewer than `planLookup` allows. */
const LOOKUP_DAYS_MAX = 1_800;
/** The last day that the store can represent, in seconds. */
const LAST_DAY = 4_294_967_295;

/** Events of some names, or of all when there are none, without any other condition. */
export type NamedEvents = Pick<EventPage, 'span' | 'conditions' | 'filterTexts'>;

/** True if a span has a whole UTC day, which may have a rollup. */
export function hasDay({ fromMs, toMs }: Span): boolean {
  return (Math.ceil(fromMs / DAY_MS) + 1) * DAY_MS <= toMs;
}

/**
 * The number of events: finalized days from rollups, all other hours from rows. Undefined if no rollup helps. An export
 * may cover all time, beyond the reach of a lookup: then the hours before the first day with rollups and after the last
 * are counted from rows, of which there are hardly any.
 */
export async function totalFromRollups(
  history: StatementRunner,
  seam: Seam,
  { span, conditions, filterTexts }: NamedEvents,
  totals: FinalizedTotals,
): Promise<number | undefined> {
  const about = { projectId: conditions.site, filters: [] };
  const isInReach = !(planLookup(about, [span]) instanceof Otherwise);
  const within = isInReach ? span : await spanOfRollups(history, seam, conditions.site, span);
  if (within === undefined) return undefined;
  const names = conditions.names as readonly string[];
  const countRows = async ({ fromMs, toMs }: Span) => {
    const parameters = { ...conditions, from: fromMs, to: toMs, edges: [fromMs] };
    const [row] = await history.ask({ name: 'event-list-pieces', parameters, texts: filterTexts }, seam);
    return row?.events ?? 0;
  };
  const ends = [
    { fromMs: span.fromMs, toMs: within.fromMs },
    { fromMs: within.toMs, toMs: span.toMs },
  ].filter(({ fromMs, toMs }) => fromMs < toMs);
  const lookup = lookUpBlocks(history, planLookup(about, [within], NO_HOURS), seam, NAMES_ROLLUP);
  return lookup.answer(async (blocks) => {
    const plan = planEventTotal({ ...about, span: within, names }, blocks);
    if (plan instanceof Otherwise) return undefined;
    const counted = await Promise.all([totals.ask(history, plan, seam), ...ends.map(countRows)]);
    return counted.reduce((sum, events) => sum + events, 0);
  });
}

/** The part of a span from the first day that has rollups of the site to the last; undefined without any. */
async function spanOfRollups(
  history: StatementRunner,
  seam: Seam,
  site: StoredId,
  span: Span,
): Promise<Span | undefined> {
  const parameters = { site, first: 0, last: LAST_DAY };
  const rows = await history.ask(
    { name: 'rollup-days', parameters, texts: { rollupTable: NAMES_ROLLUP } },
    seam,
  );
  const days = rows.flatMap(({ starts }) => starts).sort((a, b) => a - b);
  const [first] = days;
  const last = days.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const toMs = Math.min(span.toMs, last * 1000 + DAY_MS);
  const fromMs = Math.max(span.fromMs, first * 1000, toMs - LOOKUP_DAYS_MAX * DAY_MS);
  return fromMs < toMs ? { fromMs, toMs } : undefined;
}
