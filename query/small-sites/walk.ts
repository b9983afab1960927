import type { SessionState } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';

/** Calls `visit` for the events from `fromMs` to before `toMs`, oldest first. */
export function eachEvent(
  { events, order }: SiteView,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  visit: (row: number) => void,
): void {
  const { at } = events;
  for (let place = firstFrom(at, order, fromMs); place < order.length; place += 1) {
    const row = order[place] ?? 0;
    if ((at[row] ?? 0) >= toMs) return;
    visit(row);
  }
}

/** Calls `visit` for the sessions that began from `fromMs` to before `toMs`, in no order. */
export function eachSession(
  { states }: SiteView,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  visit: (state: SessionState) => void,
): void {
  for (const state of states) {
    if (state !== undefined && state.startedAt >= fromMs && state.startedAt < toMs) visit(state);
  }
}

/** The visitor of an event, as in `processor/rows.ts`; 0 for none. */
export function visitorOf({ events, states }: SiteView, row: number): number {
  const state = states[events.session[row] ?? -1];
  if (state?.isMixed === true && state.profile !== 0) return state.profile;
  return events.profile[row] || (events.device[row] ?? 0);
}

/** The visitor of a session; 0 for none. */
export function visitorOfSession({ profile, device }: SessionState): number {
  return profile || device;
}

/** The place of the greatest edge that is not above a value; 0 when all are. Edges rise. */
export function edgeBelow(edges: readonly number[], value: number): number {
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((edges[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** The store's order of texts: by their bytes. */
export function byBytes(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function firstFrom(at: Float64Array, order: Int32Array, fromMs: number): number {
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((at[order[middle] ?? 0] ?? 0) < fromMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
