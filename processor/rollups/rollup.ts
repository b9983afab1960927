import { assert } from '../../infra/assert.ts';
import type { Store, StoreParameters, StoreSettings } from '../../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { HOUR_MS } from '../fold/finalized.ts';
import { HOURLY_PAGES_DAYS } from '../rows.ts';
import { dimensionStatements, pagesStatement, totalsStatement } from './rollup-statements.ts';
import { type RollupUnit, UNITS } from './units.ts';

/**
 * One summing up of hours or days, of one site or of all. Visitors and sessions are hashes (`hashText` in rows.ts) of the
 * visitor's text, which is the profile, else the device, and of the session's id; questions over rows make the same. A
 * session is a sum over `sign`, see rows.ts; an event without a visitor or a session has no hash.
 */
export interface RollupRun {
  /** One site; undefined for all. */
  readonly projectId: string | undefined;
  readonly unit: RollupUnit;
  /** The beginnings of the hours or days, in milliseconds since 1970. */
  readonly startsMs: readonly number[];
  /** The number of this summing up, above that of any before, and even. */
  readonly block: number;
  /** Of each partition, a flush up to which every row is in the store. Not empty. */
  readonly flushed: readonly number[];
  /** Hours by page that are too old for `HOURLY_PAGES_DAYS` by then are left out. */
  readonly nowMs: number;
}

/** What does not fit into this much memory goes to the disk. */
const SETTINGS: StoreSettings = { max_bytes_before_external_group_by: 268_435_456 };

/**
 * Sums up, between two announcements. When the store merges the tables of sums it keeps of each row the one with the
 * highest block, announced or not. So it is said first that nothing counts, under the odd number before the block's own:
 *
 *     void b-1 ──▶ sums b ──▶ announced b
 *
 * Rows of block b are written behind void b-1, which no lower announcement outdoes. So where the last word on an hour is
 * an announcement, no rows of a higher block are in the store, and the announced ones are all there, whoever else is at
 * work or died at it. Whatever was begun and not announced is read from rows, and is to be summed up again.
 */
export async function rollUp(store: Store, run: RollupRun): Promise<void> {
  await announceInvalidation(store, run);
  await insertRollups(store, run);
  await announceRollup(store, run);
}

/** The first step: none of the sums of these hours or days counts. */
export function announceInvalidation(store: Store, run: RollupRun): Promise<void> {
  assert(run.block % 2 === 0, 'the block number of a rollup is even');
  return announce(store, { ...run, block: run.block - 1, flushed: [] });
}

/** The second step: the run, which do not count yet. */
export async function insertRollups(store: Store, run: RollupRun): Promise<void> {
  const { projectId, unit, startsMs, block, nowMs } = run;
  const scope = { unit, isOneSite: projectId !== undefined };
  const parametersOf = (starts: readonly number[]): StoreParameters => ({
    site: projectId ?? '',
    hours: hoursOf(unit, starts).map((ms) => ms / 1000),
    block,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
  });
  const parameters = parametersOf(startsMs);
  if (unit === 'day') {
    await store.command(pagesStatement(scope), parameters, SETTINGS);
    for (const statement of dimensionStatements(scope)) await store.command(statement, parameters, SETTINGS);
    return;
  }
  await store.command(totalsStatement(scope), parameters, SETTINGS);
  const retainedFromMs = nowMs - HOURLY_PAGES_DAYS * UNITS.day.ms;
  const retained = startsMs.filter((ms) => ms > retainedFromMs);
  if (retained.length > 0) await store.command(pagesStatement(scope), parametersOf(retained), SETTINGS);
}

/** The third step: the sums of this block count, until another block's first step. */
export function announceRollup(store: Store, run: RollupRun): Promise<void> {
  assert(run.flushed.length > 0, 'a rollup without flushes would be an invalidation');
  return announce(store, run);
}

async function announce(
  store: Store,
  { projectId, unit, startsMs, block, flushed }: RollupRun,
): Promise<void> {
  const { announced, column } = UNITS[unit];
  await store.command(
    `INSERT INTO ${announced} (projectId, ${column}, block, flushed)
     SELECT {site:String}, toDateTime(arrayJoin({starts:Array(UInt32)}), 'UTC'), {block:UInt64}, {flushed:Array(UInt32)}`,
    { site: projectId ?? '', starts: startsMs.map((ms) => ms / 1000), block, flushed },
  );
}

function hoursOf(unit: RollupUnit, startsMs: readonly number[]): readonly number[] {
  const hours = UNITS[unit].ms / HOUR_MS;
  return startsMs.flatMap((startMs) =>
    Array.from({ length: hours }, (_, index) => startMs + index * HOUR_MS),
  );
}
