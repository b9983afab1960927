import type { Store } from '../../../infra/store/store.ts';
import type { RollupUnit } from '../../rollups/units.ts';
import { recountRollups } from '../../testing/rollups-recount.ts';
import { announcedRollups, announcedRows, namesOfHashes, storedRows } from '../../testing/stored-rollups.ts';

/** The rollups announced for this site only, by table, and the same recounted from rows; `starts`: the number of hours or days. */
export async function rollupsOfSite(store: Store, unit: RollupUnit, projectId: string) {
  // Also of sites of other tests, where late hours were rolled up again.
  const ofSite = (await announcedRollups(store, unit, [projectId])).filter(
    ({ block, projectId: site }) => block % 2 === 0 && site === projectId,
  );
  const rows = await storedRows(store);
  const own = (all: typeof rows.events) => all.filter(({ values }) => values.projectId === projectId);
  const stored = { events: own(rows.events), sessions: own(rows.sessions) };
  const names = await namesOfHashes(store, [...stored.events, ...stored.sessions]);
  const starts = new Set(ofSite.map(({ startMs }) => startMs));
  const recounted = Object.entries(recountRollups(unit, stored)).map(([table, rowsOfTable]) => [
    table,
    rowsOfTable.filter(({ start }) => starts.has(Number(start))),
  ]);
  return {
    announced: await announcedRows(store, unit, ofSite, names),
    recounted: Object.fromEntries(recounted) as Record<string, unknown>,
    starts: starts.size,
  };
}
