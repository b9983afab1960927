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

// A running service grows from one lane to two, and on to eight, under load, also when a processor dies in the middle of it.

const WAIT_MAX_MS = 120_000;
/** Collectors' maximum wait for an owner, however slow this machine makes it. */
const LOOKUP_MS = 10_000;
const SETTLES_MS = LOOKUP_MS + 1_000;
const WEBS = ['web', 'beside'];
const PROCESSORS = ['one', 'two'];

let cluster: Cluster;
let traffic: Traffic;
const outages: Outage[] = [];

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], beside: ['ingest', 'query'] },
    processors: PROCESSORS,
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '250',
      MANAGE_LIMIT_PER_10_S: '0',
      QUERY_LIMIT_PER_10_S: '0',
      SESSION_LOOKUP_TIMEOUT_MS: String(LOOKUP_MS),
      PUBLISH_TIMEOUT_MS: '60000',
    },
  });
  for (const web of WEBS) await cluster.ready(web);
  traffic = new Traffic(cluster, { seed: 29, hosts: WEBS, persistent: true, paceMs: 5 });
});
afterAll(() => cluster?.stop());

async function goesOn(): Promise<void> {
  const before = traffic.ledger.acknowledged.length;
  await waitFor('load', () => traffic.ledger.acknowledged.length > before + 200, WAIT_MAX_MS);
}

function answered(lanes: number, processors: readonly string[] = PROCESSORS): Promise<void> {
  return untilAnswering(cluster, processors, lanes);
}

async function grow(lanes: number): Promise<void> {
  const { stdout } = await admin(cluster, ['lane', 'grow', String(lanes)]);
  expect(stdout).toMatch(
    new RegExp(`^the service has grown from \\d+ to ${lanes} lanes, in [\\d.]+ s$`, 'm'),
  );
  expect((await admin(cluster, ['lane', 'count'])).stdout.trim()).toBe(String(lanes));
}

test('a service grows while events come in: none fails, each is stored once, and in the session that was answered', async () => {
  await answered(1);
  await goesOn();
  const site = new VisitedSite(cluster);
  await site.make();
  const people = { unique_visitors: VISITORS, total_sessions: VISITORS };
  await expect
    .poll(() => site.figures())
    .toEqual({ ...people, total_screen_views: VISITORS, bounce_rate: 100 });
  // A number follows an event within a moment.
  await expect.poll(() => site.live()).toBe(LIVE);
  const probe = new Probe({ name: 'live', everyMs: 20, ask: () => site.live() });
  await grow(2);
  await answered(2);
  await goesOn();
  // Sessions continue in lanes that did not begin them.
  await expect
    .poll(() => site.figures())
    .toEqual({ ...people, total_screen_views: VISITORS, bounce_rate: 100 });
  await site.visit('/next');
  const after = { ...people, total_screen_views: 2 * VISITORS, bounce_rate: 0 };
  await expect.poll(() => site.figures()).toEqual(after);
  // Each of them restores its previous state.
  for (const name of PROCESSORS) {
    await cluster.restart(name);
    await answered(2);
    await goesOn();
    await expect.poll(() => site.figures()).toEqual(after);
  }
  await probe.stop();
  await site.remove();
  site.close();
  for (const web of WEBS) expect(await cluster.metric(web, 'ingest_session_lookup_failures_total')).toBe(0);
  expect([...traffic.ledger.rejects]).toEqual([]);
  // It never falls, whatever happens to the lanes.
  const saw = probe.observations.map((one) => one.saw).filter((one) => !one.startsWith('503'));
  expect(saw.findIndex((one) => one !== LIVE)).toBe(-1);
  expect(saw.length).toBeGreaterThan(50);
});

test('the processor that does it dies in the middle, and another one goes on', async () => {
  const points = ['growth:after-rename:after=3', 'growth:after-lane'];
  let lanes = 2;
  await cluster.process('two').stop();
  for (const point of points) {
    const fromMs = Date.now();
    await cluster.restart('one', { CRASH_POINT: point });
    await answered(lanes, ['one']);
    lanes *= 2;
    const growing = grow(lanes);
    await waitFor('the processor dies', () => !cluster.process('one').running, WAIT_MAX_MS);
    await cluster.restart('two');
    await growing;
    await answered(lanes, ['two']);
    outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
    await goesOn();
    await cluster.restart('one');
    await answered(lanes);
    await cluster.process('two').stop();
  }
});

test('in the end everything is right', async () => {
  await expectEachOnce(cluster, traffic, 'web', outages);
});
