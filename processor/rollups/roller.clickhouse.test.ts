import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { type Event, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { decodeLaneRecord, LANES_BUCKET, laneKeyOf } from '../lane-record.ts';
import { answering, type LaneWorld, startLaneWorld, until } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { Roller } from './roller.ts';
import { createRollupMetrics } from './rollup-metrics.ts';
import { HOUR_MS } from './settled.ts';

const PARTITIONS = 2;
const FIRST_MS = Date.UTC(2026, 2, 28, 20, 17);
const INTERVAL_MS = 100;
const SITES = ['shop', 'blog'];

let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('roller_test');
  for (let partition = 0; partition < PARTITIONS; partition += 1) await world.open(partition);
  for (let partition = 0; partition < PARTITIONS; partition += 1)
    await answering(await world.start({ partition, instance: 'one' }));
});

afterAll(() => world.stop());

/** Sends an event and waits until its partition's checkpoint holds it, so that each has a flush of its own. */
async function bring(partition: number, event: Event): Promise<void> {
  published += 1;
  const sequence = await world.bus.publish(subjectOf(partition), messageOf([event], published), 5_000);
  const records = await world.bus.keyed(LANES_BUCKET);
  await until('the checkpoint', async () => {
    const stored = await records.get(laneKeyOf(partition));
    const record = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
    return record !== undefined && record.checkpoint.sequence >= sequence ? true : undefined;
  });
}

function eventAt(minutes: number, device: number, overrides: Partial<Event> = {}): Event {
  const deviceId = `${device + 1}`.padStart(2, '0').repeat(16);
  const occurredAtMs = FIRST_MS + minutes * 60_000;
  return plainEvent({
    projectId: SITES[device % 2] ?? '',
    deviceId,
    sessionId: `${Math.floor(minutes) + 1_000}`.padStart(4, '0') + deviceId.slice(4),
    occurredAtMs,
    receivedAtMs: occurredAtMs,
    path: `/p${(minutes * 7) % 3}`,
    ...overrides,
  });
}

async function roller(): Promise<Roller> {
  return new Roller({
    store: world.store,
    records: await world.bus.keyed(LANES_BUCKET),
    partitions: PARTITIONS,
    intervalMs: INTERVAL_MS,
    clock: systemClock,
    log: createLogger('roller', 'silent'),
    metrics: createRollupMetrics(new Metrics()),
    isOurs: () => true,
  });
}

/** The sums that hold, by site and hour and, for pages, by page. */
async function sums(): Promise<{ totals: string[]; pages: string[]; blocks: Map<string, number> }> {
  const blockRows = await world.store.query<{ key: string; block: number }>(
    `SELECT concat(site, ' ', toString(toUnixTimestamp(hour))) AS key, max(block) AS block
     FROM (SELECT arrayJoin({sites:Array(String)}) AS site) AS sites CROSS JOIN rollup_blocks
     WHERE projectId IN ('', site) GROUP BY key`,
    { sites: SITES },
  );
  const blocks = new Map(blockRows.map(({ key, block }) => [key, block]));
  const valid = <Row extends { projectId: string; hour: number; block: number }>(rows: readonly Row[]) =>
    rows.filter(({ projectId, hour, block }) => blocks.get(`${projectId} ${hour}`) === block);
  const common = 'projectId, toUnixTimestamp(hour) AS hour, block';
  const figures =
    'screenViews, begun, bounced, lastedMs, toString(revenue) AS amounts, length(visitors) AS visitors';
  const totals = await world.store.query<Totals>(`SELECT ${common}, ${figures} FROM hourly_totals`);
  const pages = await world.store.query<Totals & { path: string; sessions: number }>(
    `SELECT ${common}, ${figures}, path, length(sessions) AS sessions FROM hourly_pages`,
  );
  return {
    totals: valid(totals).map(textOf).sort(),
    pages: valid(pages)
      .map((row) => `${row.path} ${textOf(row)} ${row.sessions} sessions`)
      .sort(),
    blocks,
  };
}

interface Totals {
  readonly projectId: string;
  readonly hour: number;
  readonly block: number;
  readonly screenViews: number;
  readonly begun: number;
  readonly bounced: number;
  readonly lastedMs: number;
  readonly amounts: string;
  readonly visitors: number;
}

function textOf({
  projectId,
  hour,
  screenViews,
  begun,
  bounced,
  lastedMs,
  amounts,
  visitors,
}: Totals): string {
  return [projectId, hour, screenViews, begun, bounced, lastedMs, amounts, `${visitors} visitors`].join(' ');
}

interface EventRow {
  readonly projectId: string;
  readonly atMs: number;
  readonly name: string;
  readonly path: string;
  readonly session: string;
  readonly visitor: string;
  readonly amount: number;
  readonly currency: string;
}

interface SessionRow {
  readonly projectId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly screenViews: number;
  readonly entryPath: string;
}

/** The same, recounted row by row. */
async function recount(endMs: number): Promise<{ totals: string[]; pages: string[] }> {
  const events = await world.store.query<EventRow>(
    `SELECT projectId, toUnixTimestamp64Milli(createdAt) AS atMs, name, path, hex(sessionId) AS session,
       if(profileId != '', profileId, deviceId) AS visitor, revenue AS amount, currency
     FROM events WHERE name NOT IN ('session_start', 'session_end')`,
  );
  const sessions = await world.store.query<SessionRow>(
    `SELECT projectId, toUnixTimestamp64Milli(startedAt) AS startMs, toUnixTimestamp64Milli(endedAt) AS endMs,
       screenViews, entryPath FROM sessions FINAL WHERE projectId != ''`,
  );
  const count = (
    keyOf: (row: { projectId: string; ms: number; path: string }) => string,
    isOfPages: boolean,
  ) => {
    const counted = new Map<string, ReturnType<typeof nothing>>();
    const at = (row: { projectId: string; ms: number; path: string }) => {
      const found = counted.get(keyOf(row)) ?? nothing();
      counted.set(keyOf(row), found);
      return found;
    };
    for (const event of events) {
      const isView = event.name === 'screen_view';
      if (event.atMs >= endMs || (isOfPages && !isView && event.amount === 0)) continue;
      const found = at({ ...event, ms: event.atMs });
      if (isView) found.views += 1;
      if (isView) found.sessions.add(event.session);
      if (isView || !isOfPages) found.visitors.add(event.visitor);
      if (event.amount !== 0)
        found.amounts.set(event.currency, (found.amounts.get(event.currency) ?? 0) + event.amount);
    }
    for (const session of sessions) {
      if (session.startMs >= endMs) continue;
      const found = at({ projectId: session.projectId, ms: session.startMs, path: session.entryPath });
      found.begun += 1;
      if (session.screenViews <= 1) found.bounced += 1;
      found.lastedMs += session.endMs - session.startMs;
    }
    return [...counted].map(([key, found]) => {
      const amounts = [...found.amounts].sort().map(([currency, amount]) => `'${currency}':${amount}`);
      const figures = [found.views, found.begun, found.bounced, found.lastedMs, `{${amounts.join(',')}}`];
      return {
        key,
        text: [...figures, `${found.visitors.size} visitors`].join(' '),
        sessions: found.sessions.size,
      };
    });
  };
  const hourOf = (ms: number) => Math.floor(ms / HOUR_MS) * 3600;
  return {
    totals: count(({ projectId, ms }) => `${projectId} ${hourOf(ms)}`, false)
      .map(({ key, text }) => `${key} ${text}`)
      .sort(),
    pages: count(({ projectId, ms, path }) => `${path} ${projectId} ${hourOf(ms)}`, true)
      .map(({ key, text, sessions }) => `${key} ${text} ${sessions} sessions`)
      .sort(),
  };
}

function nothing() {
  return {
    views: 0,
    begun: 0,
    bounced: 0,
    lastedMs: 0,
    amounts: new Map<string, number>(),
    visitors: new Set<string>(),
    sessions: new Set<string>(),
  };
}

test('settled hours are summed up once every partition has passed them, and late ones again', async () => {
  const one = await roller();
  for (let minutes = 0; minutes < 480; minutes += 24) {
    const isPurchase = minutes % 5 === 0;
    await bring(
      0,
      eventAt(minutes, (minutes / 24) % 4, {
        ...(isPurchase
          ? { name: 'purchase', revenue: BigInt(minutes + 1), currency: minutes % 2 === 0 ? 'EUR' : 'JPY' }
          : {}),
        ...(minutes % 7 === 0 ? { profileId: 'alice' } : {}),
      }),
    );
  }
  await one.pass();
  expect((await sums()).blocks.size).toBe(0);

  // The other partition's clock stands at 6:20 after the first event: what ended three hours before is settled.
  await bring(1, eventAt(380, 5));
  await one.pass();
  const endMs = Math.floor((FIRST_MS + 380 * 60_000 - 3 * HOUR_MS) / HOUR_MS) * HOUR_MS;
  const before = await sums();
  expect(before.blocks.size).toBe(
    SITES.length * ((endMs - Math.floor(FIRST_MS / HOUR_MS) * HOUR_MS) / HOUR_MS),
  );
  expect({ totals: before.totals, pages: before.pages }).toEqual(await recount(endMs));
  expect(before.totals.length).toBeGreaterThan(5);

  // One event for an hour that is summed up, one for an hour before all, and a session that goes on for hours.
  const nowMs = FIRST_MS + 481 * 60_000;
  await bring(0, eventAt(30.5, 2, { receivedAtMs: nowMs, path: '/late', profileId: 'bob' }));
  await bring(0, eventAt(-600, 1, { receivedAtMs: nowMs, path: '/early' }));
  const marked = await world.store.query<{ hour: number }>(
    'SELECT DISTINCT toUnixTimestamp(hour) AS hour FROM late_hours ORDER BY hour',
  );
  const hourAt = (minutes: number) => Math.floor((FIRST_MS + minutes * 60_000) / HOUR_MS) * 3600;
  expect(marked.map(({ hour }) => hour)).toEqual(expect.arrayContaining([hourAt(-600), hourAt(30.5)]));

  const early = `blog ${hourAt(-600)}`;
  await until('the late hours', async () => {
    await one.pass();
    return (await sums()).blocks.has(early) ? true : undefined;
  });
  const after = await sums();
  const recounted = await recount(endMs);
  expect({ totals: after.totals, pages: after.pages }).toEqual(recounted);
  expect(after.totals.some((text) => text.startsWith(early))).toBe(true);
  const renewed = [...after.blocks]
    .filter(([key, block]) => before.blocks.get(key) !== block)
    .map(([key]) => key);
  expect(renewed.sort()).toEqual([early, `shop ${hourAt(30.5)}`].sort());

  // Nothing is left to do.
  await one.pass();
  expect((await sums()).blocks).toEqual(after.blocks);
}, 60_000);
