import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from '../cluster/client.ts';
import { fuzz } from './fuzz.ts';
import { BREACHES_MAX, expectDescribedAnswers, FuzzGround, say } from './fuzz-ground.ts';
import { KnownThings } from './known.ts';
import { lawOf, SiteMaker } from './site-maker.ts';

// A sample of `fuzz.long.test.ts`, and the limits.
const REQUESTS = 2_500;
const SEED = 20_261_122;

let ground: FuzzGround;

beforeAll(async () => {
  ground = await FuzzGround.open();
}, 120_000);

afterAll(() => ground?.[Symbol.asyncDispose]());

test('a sample of requests made only from the document: every answer is as the document says', async () => {
  await expectDescribedAnswers(ground, { seed: SEED, requests: REQUESTS });
});

test('with limits, every answer that lists the headers of limits says them, and 429 is one of them', async () => {
  const { cluster, foreign } = ground;
  // Connections of the test before may be about to end, since they were idle.
  const client = new Client(8);
  const maker = new SiteMaker(cluster, 'web', client);
  const law = await lawOf(cluster.url('limited'), { limited: true });
  const home = await maker.site('Limited');
  const known = new KnownThings(law.operations, [{ projectId: home.id }]);
  const cast = {
    root: cluster.credentials.clients.root,
    write: home.write,
    read: home.read,
    cookie: await maker.signedIn(home.read),
    foreign,
    decoys: [foreign],
  };
  const outcome = await fuzz({
    law,
    known,
    cast,
    site: home.id,
    url: cluster.url('limited'),
    seed: SEED,
    requests: 0,
    eachOperation: 6,
    eachQuestion: 6,
    inFlight: 8,
    say,
    breachesMax: BREACHES_MAX,
  });
  client.close();
  expect(outcome.breaches, outcome.breaches.join('\n')).toEqual([]);
  for (const status of [200, 429])
    expect([status, (outcome.statuses.get(status) ?? 0) > 20]).toEqual([status, true]);
}, 120_000);
