import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { Questions } from '../cluster/answers.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { Ledger } from '../traffic/ledger.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit } from './audit.ts';

const FRESHNESS_MS = 500;
// The API allows each client 100 questions in 10 s, so two clients take turns with two kinds of question.
const ASK_EVERY_MS = 120;
/** More rounds for a longer run. */
const ROUNDS = Number(process.env.SEAM_ROUNDS ?? 60);

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { a: ['ingest', 'query'], b: ['ingest', 'query'], c: ['ingest'] },
    processors: ['processor'],
    withStore: true,
    env: { LANES: '3', WORKERS: '2', FLUSH_INTERVAL_MS: '100', LEASE_MS: '2000' },
  });
  await Promise.all(['a', 'b'].map((host) => cluster.ready(host)));
});

afterAll(() => cluster?.stop());

test('laws 4 and 5: three collectors with random routing answer the session that is stored; hot and history count all, at any instant', async () => {
  const traffic = new Traffic(cluster, { seed: 1, hosts: ['a', 'b', 'c'], persistent: true, paceMs: 80 });
  await waitFor('load', () => traffic.ledger.acknowledged.length > 50, 30_000);
  const answersPerFlush = await askContinuously(traffic.ledger);
  const ledger = await traffic.stop();
  expect(answersPerFlush.outOfBounds).toEqual([]);
  expect(answersPerFlush.asked).toBe(2 * ROUNDS);
  const sessions = new Set(ledger.acknowledged.map(({ answered }) => answered?.sessionId));
  expect(sessions.size).toBeGreaterThan(24);
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'a');
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

/**
 * Every answer is at least the number acknowledged half a second before the question, and at most the number sent by the time of
 * the answer; an event that was counted once stays counted.
 */
async function askContinuously(ledger: Ledger) {
  const { projectId, clients } = cluster.credentials;
  const client = new Client(4);
  const today = new Date().toISOString().slice(0, 10);
  const weekAgo = new Date(Date.now() - 7 * DAY_MS).toISOString().slice(0, 10);
  const outOfBounds: string[] = [];
  let asked = 0;
  let lastViews = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const credential = round % 2 === 0 ? clients.read : clients.root;
    const questions = new Questions(client, cluster.url(round % 3 === 0 ? 'b' : 'a'), projectId, credential);
    const ask = async (what: string, names: readonly string[], answer: () => Promise<number>) => {
      const askedAtMs = Date.now();
      const count = await answer();
      const named = ledger.entries.filter(({ event }) => names.includes(event.name));
      const least = named.filter(({ acknowledgedAtMs = Number.POSITIVE_INFINITY }) => {
        return acknowledgedAtMs <= askedAtMs - FRESHNESS_MS;
      }).length;
      asked += 1;
      if (count < least || count > named.length) {
        outOfBounds.push(`${what}: ${count}, not in ${least}..${named.length} (round ${round})`);
      }
      return count;
    };
    await Promise.all([
      ask('export', ['screen_view', 'click'], async () => {
        return (await questions.exportPage(['screen_view', 'click'], 1, 1)).meta.totalCount;
      }),
      ask(
        'metrics',
        ['screen_view'],
        async () => (await questions.metrics(weekAgo, today)).total_screen_views,
      ).then((views) => {
        if (views < lastViews) outOfBounds.push(`views fell from ${lastViews} to ${views} (round ${round})`);
        lastViews = views;
      }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  client.close();
  return { asked, outOfBounds };
}
