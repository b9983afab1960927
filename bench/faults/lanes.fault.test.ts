import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { admin } from './admin-command.ts';
import { untilAnswering } from './answering.ts';
import type { Outage } from './audit.ts';
import { expectEachOnce } from './each-once.ts';
import { Probe } from './probe.ts';
import { LIVE, VISITORS, VisitedSite } from './visited-site.ts';

// Under load a service grows, a processor hands its lanes over, and one dies in the middle of the next growth. `growth.long.test.ts` and
// `shares.long.test.ts` do it with more lanes, processors and steps.

const WAIT_MAX_MS = 120_000;
/** Collectors' maximum wait for an owner, however slow this machine makes it. */
const LOOKUP_MS = 10_000;
const SETTLES_MS = LOOKUP_MS + 1_000;
const PROCESSORS = ['one', 'two'];

let cluster: Cluster;
let traffic: Traffic;
let site: VisitedSite;
let views = VISITORS;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: PROCESSORS,
    withStore: true,
    env: {
      WORKERS: '1',
      FLUSH_INTERVAL_MS: '250',
      MANAGE_LIMIT_PER_10_S: '0',
      QUERY_LIMIT_PER_10_S: '0',
      SESSION_LOOKUP_TIMEOUT_MS: String(LOOKUP_MS),
      LANE_WAIT_MAX_MS: '25000',
      PUBLISH_TIMEOUT_MS: '60000',
    },
  });
  await cluster.ready('web');
  traffic = new Traffic(cluster, { seed: 31, hosts: ['web'], persistent: true, paceMs: 5 });
  site = new VisitedSite(cluster);
  await site.make();
});
afterAll(async () => {
  site?.close();
  await cluster?.stop();
});

async function moreLoad(): Promise<void> {
  const before = traffic.ledger.acknowledged.length;
  await waitFor('load', () => traffic.ledger.acknowledged.length > before + 200, WAIT_MAX_MS);
}

async function expectFigures(): Promise<void> {
  const figures = { unique_visitors: VISITORS, total_sessions: VISITORS, total_screen_views: views };
  const bounces = { bounce_rate: views === VISITORS ? 100 : 0 };
  await expect.poll(() => site.figures()).toEqual({ ...figures, ...bounces });
}

test('a service grows while events come in: figures and live numbers stay, and sessions continue in new lanes', async () => {
  await untilAnswering(cluster, PROCESSORS, 1);
  await moreLoad();
  await expectFigures();
  await expect.poll(() => site.live()).toBe(LIVE);
  const probe = new Probe({ name: 'live', everyMs: 20, ask: () => site.live() });
  await admin(cluster, ['lane', 'grow', '2']);
  await untilAnswering(cluster, PROCESSORS, 2);
  await moreLoad();
  await expectFigures();
  await site.visit('/next');
  views += VISITORS;
  await expectFigures();
  await probe.stop();
  const saw = probe.observations.map((one) => one.saw).filter((one) => !one.startsWith('503'));
  expect([...new Set(saw)]).toEqual([LIVE]);
  expect(await cluster.metric('web', 'ingest_session_lookup_failures_total')).toBe(0);
});

test('a processor that stops hands its lanes over, and no question and no event fails', async () => {
  await waitFor('each has a lane', async () => (await shares()).every((lanes) => lanes === 1), WAIT_MAX_MS);
  const probe = new Probe({ name: 'live', everyMs: 20, ask: () => site.live() });
  await cluster.process('two').stop();
  expect(cluster.process('two').ending).toBe('0');
  await untilAnswering(cluster, ['one'], 2);
  await moreLoad();
  await probe.stop();
  expect([...new Set(probe.observations.map(({ saw }) => saw))]).toEqual([LIVE]);
  expect(await cluster.metric('one', 'footfall_processor_fencings_total')).toBe(0);
  expect([...traffic.ledger.rejects]).toEqual([]);
  await expectFigures();
});

test('a processor dies in the middle of a growth, and another one completes it; everything counts once', async () => {
  const fromMs = Date.now();
  await cluster.restart('one', { CRASH_POINT: 'growth:after-lane' });
  await untilAnswering(cluster, ['one'], 2);
  const growing = admin(cluster, ['lane', 'grow', '4']);
  await waitFor('the processor dies', () => !cluster.process('one').running, WAIT_MAX_MS);
  await cluster.restart('two');
  await growing;
  await untilAnswering(cluster, ['two'], 4);
  const outages: readonly Outage[] = [{ fromMs, untilMs: Date.now() + SETTLES_MS }];
  await moreLoad();
  await expectFigures();
  await expectEachOnce(cluster, traffic, 'web', outages);
});

/** Number of lanes that each processor answers for. */
function shares(): Promise<number[]> {
  return Promise.all(PROCESSORS.map(async (name) => (await cluster.processorHealth(name)).answering));
}
