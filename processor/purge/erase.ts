import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import { entityKeyOf } from '../../ingest/entity-lookup.ts';
import { type LaneSpread, laneOf } from '../../ingest/event.ts';
import type { Erasure } from '../erasure.ts';
import type { LeaderJob } from '../leader-job/leader-job.ts';
import type { RollupJob } from '../rollups/rollup-job.ts';
import { type RollupUnit, startOfUnit } from '../rollups/units.ts';
import { EVENTS_TABLE, SESSIONS_TABLE } from '../rows.ts';
import type { ErasedUpTo, LaneEraser } from './lane-eraser.ts';
import { changeFound, changeFoundDocuments, ID_KEY, pieces, SESSION_KEY, STATE_KEY } from './rows-by-key.ts';
import { ANSWERED, CLEAR_ANSWER, deleteRows, rollupTables } from './tables.ts';

/** Rows removed, by table. */
export type RowsRemoved = Record<string, number>;

/** Dependencies of an erasure in one shard of the store. */
export interface EraseDeps extends LaneSpread {
  readonly store: Store;
  readonly eraser: Pick<LaneEraser, 'erase'>;
  readonly rollupJob: Pick<RollupJob, 'withoutRollups'>;
  readonly job: Pick<LeaderJob, 'sleep' | 'throwIfOver'>;
}

/**
 * A lane that restarts between the erase command and the deletion loads the rows that are about to be deleted, and so
 * does a credit to an old session. A second round finds neither in the store.
 */
const ROUNDS = 2;

const PERSONS = "SELECT profileId FROM erasing WHERE erasure = {erasure:String} AND profileId != ''";
const VISITS =
  "SELECT sessionId FROM erasing WHERE erasure = {erasure:String} AND profileId = '' AND orderId = ''";
const ORDERS = "SELECT orderId FROM erasing WHERE erasure = {erasure:String} AND orderId != ''";
const FLUSHED = 'projectId = {site:String} AND flushNumber <= {flushes:Array(UInt32)}[partition + 1]';
const ERASED_EVENTS = `(profileId IN (${PERSONS}) OR sessionId IN (${VISITS}))`;

/**
 * Removes a person, known under all of `names`, from memory and store: the sessions whose last profile is theirs, with
 * all of their events; other events that name them; their profile; the answers to their orders; and the rollups that
 * count them. Later events count as new. A repetition is harmless.
 */
export async function erasePerson(
  deps: EraseDeps,
  { id, storedId }: Pick<Erasure, 'id' | 'storedId'>,
  names: readonly string[],
): Promise<RowsRemoved> {
  const removed: RowsRemoved = {};
  for (let round = 1; round <= ROUNDS; round += 1) {
    const commands = names.map((profileId) => ({ projectId: storedId, profileId, beforeMs: null }));
    const upTo = await deps.eraser.erase(commands);
    await noteErasing(deps, { id, storedId, names, upTo });
    const touched = await touchedHours(deps.store, { id, storedId, upTo });
    await deps.rollupJob.withoutRollups(storedId, touched, async (block) => {
      add(removed, await deleteRollups(deps.store, { storedId, touched, block }));
      add(removed, await deletePerson(deps, { id, storedId, names, upTo }));
    });
    await deleteRows(deps.store, {
      table: 'erasing',
      condition: 'erasure = {erasure:String}',
      parameters: { erasure: id },
    });
  }
  return removed;
}

/** One round of an erasure: the person, and up to which rows. */
interface ErasureRound {
  readonly id: string;
  readonly storedId: StoredId;
  readonly names: readonly string[];
  readonly upTo: ErasedUpTo;
}

/**
 * Notes the person's names, sessions and orders in the table where deletions look them up. An order is theirs by its
 * event, or by the session that it was answered, which is its second answered id.
 */
async function noteErasing(deps: EraseDeps, { id, storedId, names, upTo }: ErasureRound): Promise<void> {
  const { store } = deps;
  await store.command(
    `INSERT INTO erasing (erasure, projectId, profileId, partition, sessionId)
     SELECT {erasure:String}, {site:String}, tupleElement(person, 1), tupleElement(person, 2), toFixedString('', 16)
     FROM (SELECT arrayJoin(arrayZip({names:Array(String)}, {homes:Array(UInt16)})) AS person)`,
    {
      erasure: id,
      site: storedId,
      names,
      homes: names.map((name) => laneOf(storedId, entityKeyOf('profile', name), deps)),
    },
  );
  await store.command(
    `INSERT INTO erasing (erasure, projectId, profileId, partition, sessionId)
     SELECT {erasure:String}, {site:String}, '', 0, id
     FROM ${SESSIONS_TABLE}
     WHERE ${FLUSHED} AND sign = 1
       AND id IN (SELECT id FROM ${SESSIONS_TABLE} WHERE projectId = {site:String} AND profileId IN (${PERSONS}))
     GROUP BY id HAVING argMax(profileId, version) IN (${PERSONS})`,
    { erasure: id, site: storedId, flushes: upTo.flushes },
  );
  await store.command(
    `INSERT INTO erasing (erasure, projectId, profileId, partition, sessionId, orderId)
     SELECT {erasure:String}, {site:String}, '', 0, toFixedString('', 16), id
     FROM orders
     WHERE projectId = {site:String} AND notEmpty(answered) AND id != ''
       AND (answered[2] IN (SELECT lower(hex(sessionId)) FROM (${VISITS}))
         OR id IN (SELECT orderId FROM ${EVENTS_TABLE} WHERE ${FLUSHED} AND ${ERASED_EVENTS}))
     GROUP BY id`,
    { erasure: id, site: storedId, flushes: upTo.flushes },
  );
}

/**
 * The hours and days with events of the person or the start of one of their sessions: their beginnings, in milliseconds
 * since 1970.
 */
async function touchedHours(store: Store, { id, storedId, upTo }: Omit<ErasureRound, 'names'>) {
  const rows = await store.query<{ hour: number }>(
    `SELECT DISTINCT toUnixTimestamp(toStartOfHour(at)) AS hour FROM
     (
         SELECT createdAt AS at FROM ${EVENTS_TABLE} WHERE ${FLUSHED} AND ${ERASED_EVENTS}
         UNION ALL
         SELECT startedAt AS at FROM ${SESSIONS_TABLE} WHERE ${FLUSHED} AND id IN (${VISITS})
     ) ORDER BY hour`,
    { erasure: id, site: storedId, flushes: upTo.flushes },
  );
  const hour = rows.map((row) => row.hour * 1000);
  const day = [...new Set(hour.map((ms) => startOfUnit('day', ms)))];
  return { hour, day };
}

/** Removes rollups below `block`, which hold the person's hash. */
async function deleteRollups(
  store: Store,
  {
    storedId,
    touched,
    block,
  }: {
    readonly storedId: StoredId;
    readonly touched: Readonly<Record<RollupUnit, readonly number[]>>;
    readonly block: number;
  },
): Promise<RowsRemoved> {
  const removed: RowsRemoved = {};
  for (const { table, column } of await rollupTables(store)) {
    const condition = `projectId = {site:String} AND block < {block:UInt64} AND toUnixTimestamp(${column}) IN {starts:Array(UInt32)}`;
    for (const starts of pieces(touched[column].map((ms) => ms / 1000))) {
      const parameters = { site: storedId, block, starts };
      add(removed, { [table]: await deleteRows(store, { table, condition, parameters }) });
    }
  }
  return removed;
}

async function deletePerson(
  deps: EraseDeps,
  { id, storedId, names, upTo }: ErasureRound,
): Promise<RowsRemoved> {
  const { store } = deps;
  const parameters = { erasure: id, site: storedId, flushes: upTo.flushes };
  const events = { table: EVENTS_TABLE, scope: FLUSHED, parameters };
  const sessions = { table: SESSIONS_TABLE, scope: FLUSHED, parameters };
  const removed: RowsRemoved = {};
  const orders = { table: 'orders', scope: ANSWERED, found: `id IN (${ORDERS})`, parameters };
  await changeFoundDocuments(store, orders, CLEAR_ANSWER);
  await noteThinned(store, parameters);
  // Events first: they are found by sessions, which are noted, and by names.
  const ofVisits = { ...events, found: `sessionId IN (${VISITS})`, key: SESSION_KEY };
  const named = { ...events, found: `profileId IN (${PERSONS})`, key: ID_KEY };
  for (const rows of [ofVisits, named])
    add(removed, { [EVENTS_TABLE]: await changeFound(store, rows, 'DELETE') });
  const visits = { ...sessions, found: `id IN (${VISITS})`, key: ID_KEY };
  removed[SESSIONS_TABLE] = await changeFound(store, visits, 'DELETE');
  // Sessions of another person by now: the state that named the person and the row that cancels it stay until the store merges them,
  // possibly for ever.
  const replaced = { ...sessions, found: `profileId IN (${PERSONS})`, key: STATE_KEY };
  await changeFound(store, replaced, "UPDATE profileId = ''");
  const homes = new Set(names.map((name) => laneOf(storedId, entityKeyOf('profile', name), deps)));
  for (const home of homes) {
    const profiles = {
      table: 'profiles',
      scope: 'projectId = {site:String} AND version <= {version:UInt64}',
      found: `id IN (${PERSONS} AND partition = {home:UInt16})`,
      parameters: { ...parameters, home, version: String(upTo.entityVersions[home] ?? 0n) },
    };
    add(removed, { profiles: await changeFoundDocuments(store, profiles, 'DELETE') });
  }
  return removed;
}

/** Notes the sessions that stay and lose events: from then on, their counts differ from their events. */
async function noteThinned(store: Store, parameters: StoreParameters): Promise<void> {
  await store.command(
    `INSERT INTO thinned_sessions (projectId, id, endedAt)
     SELECT {site:String}, sessionId, max(createdAt)
     FROM ${EVENTS_TABLE}
     WHERE ${FLUSHED} AND profileId IN (${PERSONS}) AND sessionId != toFixedString('', 16)
       AND sessionId NOT IN (${VISITS})
     GROUP BY sessionId`,
    parameters,
  );
}

function add(removed: RowsRemoved, more: RowsRemoved): void {
  for (const [table, rows] of Object.entries(more)) {
    if (rows > 0) removed[table] = (removed[table] ?? 0) + rows;
  }
}
