import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { KINDS_OF_REPLICAS, type ReplicasOptions } from '../../infra/testing/replicas.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { answerMetrics } from '../insights/metrics.ts';
import { startHistoryStore } from '../testing/history-store.ts';
import { addTraffic } from '../testing/model-traffic.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import { recount } from '../testing/recount.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';

// The seam over replicas, one of which is behind (infra/testing/replicas.ts): a flush must be history for every
// question as soon as it is no longer hot.

const NOW_MS = Date.parse('2026-05-05T12:00:00Z');
const ROUNDS = 4;
const zone = new Zones().of('Asia/Kolkata');
const scope = { site: modelSite('site', 'Asia/Kolkata'), zone, nowMs: NOW_MS };
const query = readParameters('range=7d', metricsQuery);

/** Number of rounds of traffic and flushes in which the answer equalled a recount. */
async function rightAnswers(replicas: ReplicasOptions): Promise<number> {
  const fixture = await startHistoryStore(NOW_MS, { replicas });
  const seeded = new SeededRandom(11);
  const lanes = new OwnedLanes(2);
  const range = rangeOf(query, NOW_MS, zone);
  if ('kind' in range) throw new Error(range.message);
  let right = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    addTraffic(lanes, seeded, { events: 80, fromMs: NOW_MS - 90 * HOUR_MS, toMs: NOW_MS });
    for (const owner of lanes.owners) {
      await fixture.land(owner, owner.cut());
      owner.complete();
    }
    addTraffic(lanes, seeded, { events: 20, fromMs: NOW_MS - 3 * HOUR_MS, toMs: NOW_MS });
    const sessions = lanes.owners.flatMap((owner) => owner.sessions());
    const ours = sessions.filter(({ projectId }) => projectId === 'site');
    const expected = recount(range, lanes.events('site'), ours, 'EUR');
    const answer = await answerMetrics({ history: fixture.history, hot: lanes.hotView() }, scope, query);
    if (JSON.stringify(answer.metrics) === JSON.stringify(expected.metrics)) right += 1;
    // The replica catches up, and is behind again with the next flush.
    if (round % 2 === 1) await must(fixture.target.replicas, 'replicas stand in front').catchUp();
  }
  await fixture.stop();
  return right;
}

describe.each(KINDS_OF_REPLICAS)('%s', (_, replicas) => {
  test('every answer is a recount, though a replica is behind', async () => {
    expect(await rightAnswers(replicas)).toBe(ROUNDS);
  });

  test('without consistent reads no answer after a flush is', async () => {
    expect(await rightAnswers({ ...replicas, ignored: ['select_sequential_consistency'] })).toBe(0);
  });
});
