import type { StoredId } from '../../infra/accounts/ids.ts';
import { assert } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreSettings } from '../../infra/store/replication.ts';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { HOURLY_PAGES_DAYS } from '../rows.ts';
import { dimensionStatements, namesStatement, pagesStatement, totalsStatement } from './rollup-statements.ts';
import { type RollupUnit, UNITS } from './units.ts';

/**
 * One run: hours or days, of one site or of all, under one block number. Visitors and sessions are hashes (`hashText`
 * in rows.ts) of the visitor's text, which is the profile, else the device, and of the session's id; questions over
 * rows make the same ones.
 *
 * A session is a sum over `sign`, see rows.ts. An event without a visitor or a session has no hash.
 */
export interface RollupRun {
  /** One site; undefined for all. */
  readonly projectId: StoredId | '' | undefined;
  readonly unit: RollupUnit;
  /** The beginnings of the hours or days, in milliseconds since 1970. */
  readonly startsMs: readonly number[];
  /** The block number of this run: even, and higher than in every earlier run. */
  readonly block: number;
  /** For each lane a flush up to which every row is in the store. Not empty. */
  readonly flushed: readonly number[];
  /** Hours by page that are older than `HOURLY_PAGES_DAYS` at this time are left out. */
  readonly nowMs: number;
}

/** An aggregation that needs more memory continues on disk. */
const SETTINGS: StoreSettings = { max_bytes_before_external_group_by: 268_435_456 };

/**
 * Rolls up, between two announcements. When the store merges the rollup tables it keeps of each row the one with the highest block, whether
 * announced or not. So the run first invalidates the hours or days, under the odd number before its own:
 *
 *     invalidation b-1 ──▶ rollup b ──▶ announced b
 *
 * Rows of block b are written after invalidation b-1, which outranks every lower announcement. So if the highest announcement of an hour is
 * not an invalidation, the store has no rows of a higher block, and the rows of the announced block are complete, whichever processes run
 * or crashed meanwhile. Hours and days begun and not announced are read from rows, and rolled up again later.
 *
 * Table and column names are older than these words: `rollup_blocks` and `rollup_days` hold announcements, and an invalidation is a row of
 * them with an empty `flushed`.
 */
export async function rollUp(store: Store, run: RollupRun): Promise<void> {
  await announceInvalidation(store, run);
  await insertRollups(store, run);
  await announceRollup(store, run);
}

/** The first step: no rollup of these hours or days counts. */
export function announceInvalidation(store: Store, run: RollupRun): Promise<void> {
  assert(run.block % 2 === 0, 'the block number of a rollup is even');
  return announce(store, { ...run, block: run.block - 1, flushed: [] });
}

/** The second step: the rows of the rollup, which do not count yet. */
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
    await store.command(namesStatement(scope), parameters, SETTINGS);
    return;
  }
  await store.command(totalsStatement(scope), parameters, SETTINGS);
  const retainedFromMs = nowMs - HOURLY_PAGES_DAYS * UNITS.day.ms;
  const retained = startsMs.filter((ms) => ms > retainedFromMs);
  if (retained.length > 0) await store.command(pagesStatement(scope), parametersOf(retained), SETTINGS);
}

/** The third step: the rollup counts, until another block invalidates it. */
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
