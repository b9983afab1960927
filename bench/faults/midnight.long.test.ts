import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { DAY_MS, MINUTE_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { findProgram } from '../../infra/testing/debian-program.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Clocks, FAKETIME } from '../cluster/clocks.ts';
import { Cluster } from '../cluster/cluster.ts';
import { type Answered, SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { isSynthetic, type StoredEvent, storedEvents } from '../cluster/stored.ts';
import { untilAnswering } from './answering.ts';

// The salts of device ids rotate at midnight in UTC, while the bus is unavailable and a collector restarts. No sender names a
// device here, so every device id comes from a salt. The test sets the clock that all processes share: to just before midnight,
// past it, and 40 minutes later.

const LANES = 4;
const VISITORS = 40;
const WEB = ['one', 'two'] as const;
const PROCESSORS = ['left', 'right'] as const;
const ALL = 'all';
const WAIT_MAX_MS = 60_000;
const AGAIN_MS = 100;

const hasClocks = (await findProgram(FAKETIME)) !== undefined;
const scratch = mkdtempSync(join(tmpdir(), 'footfall-midnight-'));
let clocks: Clocks;
let cluster: Cluster;
let midnightMs = 0;
/** Every acknowledged event, with its answer. */
const taken = new Map<string, AnsweredVisit>();

interface AnsweredVisit {
  readonly deviceId: string;
  readonly sessionId: string;
}

/** Sets the clock of all processes to `afterMidnightMs` after midnight; a negative number is before it. */
async function setClocks(afterMidnightMs: number): Promise<void> {
  clocks.set(ALL, midnightMs + afterMidnightMs - Date.now());
  // Each process reads the file once a second.
  await wait(3_000);
}

describe.skipIf(!hasClocks)('midnight', () => {
  beforeAll(async () => {
    clocks = new Clocks(scratch);
    midnightMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
    // Tomorrow's salt is made ten minutes before.
    clocks.set(ALL, midnightMs - 5 * MINUTE_MS - Date.now());
    const env = clocks.env(ALL);
    cluster = await Cluster.start({
      hosts: { one: ['ingest', 'query'], two: ['ingest', 'query'] },
      processors: PROCESSORS,
      withStore: true,
      env: {
        LANES: String(LANES),
        WORKERS: '1',
        FLUSH_INTERVAL_MS: '200',
        SESSION_LOOKUP_TIMEOUT_MS: '10000',
        TRUSTED_PROXIES: '127.0.0.1',
      },
      envOf: Object.fromEntries([...WEB, ...PROCESSORS].map((name) => [name, env])),
    });
    for (const name of WEB) await cluster.ready(name);
    await untilAnswering(cluster, PROCESSORS, LANES);
  }, 120_000);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Sends a page view of a visitor identified only by address and user agent, until it is accepted. */
  async function view(visitor: number, eventId: string, host: (typeof WEB)[number]): Promise<AnsweredVisit> {
    const payload = { name: 'screen_view', eventId, properties: { __path: 'https://shop.example/' } };
    const headers = {
      'x-forwarded-for': `198.51.100.${visitor}`,
      'user-agent': `Mozilla/5.0 (X11; Linux x86_64; rv:${100 + visitor}.0) Gecko/20100101 Firefox/${100 + visitor}.0`,
    };
    const site = new SiteOfCluster(cluster, host);
    let answer: Answered | undefined;
    const isTaken = async () => {
      answer = await site.send('track', payload, headers).catch(() => undefined);
      if (answer?.status !== 200) await wait(AGAIN_MS);
      return answer?.status === 200;
    };
    await waitFor(`${eventId} is taken`, isTaken, WAIT_MAX_MS);
    const visit = { deviceId: String(answer?.body.deviceId), sessionId: String(answer?.body.sessionId) };
    expect(visit.deviceId).toMatch(/^[0-9a-f]{32}$/);
    taken.set(eventId, visit);
    return visit;
  }

  /** Sends a view of each of these visitors. From one round to the next, every visitor changes the host. */
  function views(round: number, first = 0, count = VISITORS): Promise<AnsweredVisit[]> {
    const one = (_: unknown, index: number) =>
      view(first + index, `${round}-${first + index}`, (index + round) % 2 === 0 ? 'one' : 'two');
    return Promise.all(Array.from({ length: count }, one));
  }

  async function saltDays(): Promise<readonly string[]> {
    const bus = await Bus.connect({ url: cluster.busUrl, name: 'test' }, createLogger('test', 'silent'));
    const keys = await (await bus.keyed(CONTROL_BUCKET)).keys();
    await bus.close();
    return keys.filter((key) => key.startsWith('salt.')).sort();
  }

  const saltOf = (day: number) => `salt.${new Date(midnightMs + day * DAY_MS).toISOString().slice(0, 10)}`;

  let before: readonly AnsweredVisit[];
  let over: readonly AnsweredVisit[];

  test('a visit that goes on over midnight stays one visit, on the collector that knew it and on the other', async () => {
    before = await views(0);
    expect(new Set(before.map(({ deviceId }) => deviceId)).size).toBe(VISITORS);
    expect(await saltDays()).toEqual([saltOf(-1), saltOf(0)]);
    await setClocks(-4_000);
    // The bus is unavailable over midnight, and one collector knows neither visits nor salts afterwards.
    const sent = views(1);
    await cluster.kill('bus');
    await cluster.kill('one');
    await setClocks(2_000);
    await cluster.restart('bus');
    await cluster.restart('one');
    expect(await sent).toEqual(before);
    expect(await views(2)).toEqual(before);
  });

  test('who comes after midnight has a device of the new day', async () => {
    over = await views(3, VISITORS);
    expect(await views(4, VISITORS)).toEqual(over);
    const olds = new Set(before.map(({ deviceId }) => deviceId));
    expect(over.some(({ deviceId }) => olds.has(deviceId))).toBe(false);
  });

  test('a visit that has ended is followed by one of a device of the new day, on both collectors', async () => {
    await setClocks(40 * MINUTE_MS);
    const later = await views(5);
    expect(await views(6)).toEqual(later);
    const ids = (visits: readonly AnsweredVisit[], of: keyof AnsweredVisit) =>
      visits.map((visit) => visit[of]);
    expect(new Set([...ids(before, 'deviceId'), ...ids(later, 'deviceId')]).size).toBe(2 * VISITORS);
    expect(new Set([...ids(before, 'sessionId'), ...ids(later, 'sessionId')]).size).toBe(2 * VISITORS);
    // Visitors from after midnight keep one device all day, and have a second visit.
    const again = await views(7, VISITORS);
    expect(ids(again, 'deviceId')).toEqual(ids(over, 'deviceId'));
    expect(ids(again, 'sessionId').some((id) => ids(over, 'sessionId').includes(id))).toBe(false);
  });

  test('every event is stored once, in the visit that was answered, and every visitor counts once a day', async () => {
    const store = cluster.openStore();
    const site = cluster.credentials.projectId;
    let stored: readonly StoredEvent[] = [];
    await waitFor(
      'everything is stored',
      async () => {
        stored = (await storedEvents(store, site)).filter((event) => !isSynthetic(event));
        return stored.length >= taken.size;
      },
      WAIT_MAX_MS,
    );
    await store.close();
    const visits = stored.map(
      ({ eventId, deviceId, sessionId }) => [eventId, { deviceId, sessionId }] as const,
    );
    expect(visits.sort()).toEqual([...taken].sort());
    const dates = `startDate=${saltOf(-1).slice(5)}&endDate=${saltOf(0).slice(5)}`;
    for (const name of WEB) {
      const { body } = await new SiteOfCluster(cluster, name).ask(
        `/insights/${site}/metrics?range=custom&${dates}`,
      );
      expect(body).toMatchObject({
        metrics: {
          unique_visitors: 3 * VISITORS,
          total_sessions: 4 * VISITORS,
          total_screen_views: taken.size,
        },
      });
    }
  });
});
