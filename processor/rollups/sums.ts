import type { Store, StoreSettings } from '../../infra/store.ts';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';

/**
 * How hours are summed up, of one site or of all. Visitors and sessions are 64-bit hashes: sipHash64 of the visitor's
 * text (profile, else device) and of the session's id, as the questions over rows make them, too; of n visitors two are
 * taken for one with a chance of n² / 2⁶⁵, a hundred million to one for half a million of them. A session is a sum over
 * `sign`, see rows.ts; an event without a visitor or a session has no hash.
 */
export interface SumUp {
  /** One site; undefined for all. */
  readonly projectId: string | undefined;
  readonly hoursMs: readonly number[];
  /** The number of this summing up, above that of any before. */
  readonly block: number;
  /** Of each partition, a flush up to which every row is in the store. */
  readonly flushed: readonly number[];
}

const VISITOR = "if(profileId != '', profileId, deviceId)";
const NO_AMOUNTS = "CAST(map(), 'Map(String, Int64)')";
const AMOUNTS = 'sumMapIf(map(toString(currency), revenue), revenue != 0)';
const ENTERED = `
    sum(sign) AS begun,
    sumIf(sign, screenViews <= 1) AS bounced,
    sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS lastedMs`;

/** What does not fit into this much memory goes to the disk. */
const SETTINGS: StoreSettings = { max_bytes_before_external_group_by: 268_435_456 };

/** Sums up, then says so: hours without their row in `rollup_blocks` are read from rows, whatever else is there. */
export async function sumUp(store: Store, { projectId, hoursMs, block, flushed }: SumUp): Promise<void> {
  const site = projectId === undefined ? "projectId != ''" : 'projectId = {site:String}';
  const parameters = {
    site: projectId ?? '',
    hours: hoursMs.map((ms) => ms / 1000),
    block,
    flushed,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
  };
  await store.command(totalsStatement(site), parameters, SETTINGS);
  await store.command(pagesStatement(site), parameters, SETTINGS);
  await store.command(
    `INSERT INTO rollup_blocks (projectId, hour, block, flushed)
     SELECT {site:String}, toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'), {block:UInt64}, {flushed:Array(UInt32)}`,
    parameters,
  );
}

function totalsStatement(site: string): string {
  return `
INSERT INTO hourly_totals (projectId, hour, block, screenViews, begun, bounced, lastedMs, revenue, visitors)
SELECT
    projectId, hour, {block:UInt64},
    sum(viewed), sum(begun), sum(bounced), sum(lastedMs), sumMap(amounts), groupUniqArrayArray(visitorHashes)
FROM
(
    SELECT
        projectId, toStartOfHour(createdAt) AS hour,
        countIf(name = {screenView:String}) AS viewed,
        0 AS begun, 0 AS bounced, 0 AS lastedMs,
        ${AMOUNTS} AS amounts,
        groupUniqArrayIf(sipHash64(${VISITOR}), ${VISITOR} != '' AND name NOT IN {synthetic:Array(String)}) AS visitorHashes
    FROM events
    WHERE ${site} AND ${hourIs('createdAt')}
    GROUP BY projectId, hour
    UNION ALL
    SELECT projectId, toStartOfHour(startedAt) AS hour, 0 AS viewed, ${ENTERED}, ${NO_AMOUNTS} AS amounts, [] AS visitorHashes
    FROM sessions
    WHERE ${site} AND ${hourIs('startedAt')}
    GROUP BY projectId, hour
)
GROUP BY projectId, hour`;
}

function pagesStatement(site: string): string {
  return `
INSERT INTO hourly_pages
    (projectId, hour, block, origin, path, title, screenViews, begun, bounced, lastedMs, revenue, sessions, visitors)
SELECT
    projectId, hour, {block:UInt64}, origin, path, max(lastTitle),
    sum(viewed), sum(begun), sum(bounced), sum(lastedMs), sumMap(amounts),
    groupUniqArrayArray(sessionHashes), groupUniqArrayArray(visitorHashes)
FROM
(
    SELECT
        projectId, toStartOfHour(createdAt) AS hour, origin, path,
        argMaxIf(title, (createdAt, id), name = {screenView:String} AND title != '') AS lastTitle,
        countIf(name = {screenView:String}) AS viewed,
        0 AS begun, 0 AS bounced, 0 AS lastedMs,
        ${AMOUNTS} AS amounts,
        groupUniqArrayIf(sipHash64(sessionId), name = {screenView:String} AND sessionId != toFixedString('', 16)) AS sessionHashes,
        groupUniqArrayIf(sipHash64(${VISITOR}), name = {screenView:String} AND ${VISITOR} != '') AS visitorHashes
    FROM events
    WHERE ${site} AND ${hourIs('createdAt')} AND (name = {screenView:String} OR revenue != 0)
    GROUP BY projectId, hour, origin, path
    UNION ALL
    SELECT
        projectId, toStartOfHour(startedAt) AS hour, entryOrigin AS origin, entryPath AS path, '' AS lastTitle,
        0 AS viewed, ${ENTERED}, ${NO_AMOUNTS} AS amounts, [] AS sessionHashes, [] AS visitorHashes
    FROM sessions
    WHERE ${site} AND ${hourIs('startedAt')}
    GROUP BY projectId, hour, origin, path
)
GROUP BY projectId, hour, origin, path`;
}

function hourIs(column: string): string {
  return `toStartOfHour(${column}) IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))`;
}
