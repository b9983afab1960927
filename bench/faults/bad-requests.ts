import { expect } from 'vitest';
import { bodiesFrom } from '../../ingest/testing/bodies.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { type Answer, Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { residentBytes } from '../cluster/process-cost.ts';

const IN_FLIGHT = 96;
const SEED = 20_261_121;
/** Maximum memory growth of a process in the second half, when every cache is full: twice its noise. */
const GROWTH_MAX_BYTES = 96 * 1024 ** 2;
const ORIGIN = 'https://fuzz.example';

const USER_AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'curl/8.5.0',
  '',
  `Mozilla/5.0 (${'('.repeat(900)}`,
  `Chrome/${'9'.repeat(1000)}`,
] as const;
const ADDRESSES = [
  '8.8.8.8',
  '2001:4860:4860::8888',
  '999.1.1.1',
  '[::',
  '10.0.0.1, 1.1.1.1',
  '',
  '%',
  '::ffff:8.8.4.4',
] as const;
const ORIGINS = [ORIGIN, 'null', 'https://evil.example', 'nonsense', ''] as const;

/**
 * Sends seeded bodies and headers that no client should send to a separate service, and expects no 5xx, no crash, no growth, and that the
 * next visitor counts.
 */
export async function expectToBearBadRequests(requests: number): Promise<void> {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    // On a busy machine no request is refused for its wait: that would hide its own answer.
    env: { LOG_LEVEL: 'warn', SESSION_CACHE_MAX: '1000', EVENT_IDS_MAX: '1000', REQUEST_WAIT_MAX_MS: '0' },
  });
  await cluster.ready('web');
  const client = new Client(IN_FLIGHT);
  const bodies = bodiesFrom(SEED);
  const random = new SeededRandom(SEED);
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  let sent = 0;
  let half = { web: 0, processor: 0 };
  const url = cluster.url('web');
  const judge = (answer: Answer, body: Buffer) => {
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status >= 500 || !isAnswerOf(answer)) {
      const shown = body.toString('utf8').slice(0, 300);
      wrong.push(`${answer.status} ${JSON.stringify(answer.body).slice(0, 200)} for ${shown}`);
    }
  };
  const sendOnAndOn = async () => {
    while (sent < requests && wrong.length < 10) {
      sent += 1;
      if (sent === requests / 2) half = residentOf(cluster);
      const body = bodies.next().value;
      const path = body[0] === 0x5b && random.chance(0.9) ? '/track/batch' : '/track';
      judge(
        await client.exchange('POST', url + path, headersFrom(random, cluster.credentials.clients), body),
        body,
      );
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendOnAndOn));
  expect(wrong).toEqual([]);
  // Every kind of verdict was reached and none dominated, so the generator covers its range.
  for (const status of [200, 202, 400, 401, 404, 415])
    expect([status, (statuses.get(status) ?? 0) > 10]).toEqual([status, true]);
  const resident = residentOf(cluster);
  expect(resident.web - half.web).toBeLessThan(GROWTH_MAX_BYTES);
  expect(resident.processor - half.processor).toBeLessThan(GROWTH_MAX_BYTES);
  const visit = { type: 'track', payload: { name: 'after-the-storm', properties: { __deviceId: 'calm' } } };
  const { id, secret } = cluster.credentials.clients.write;
  const answer = await client.post(`${url}/track`, { id, secret }, {}, JSON.stringify(visit));
  expect(answer.status).toBe(200);
  const exported = `${url}/export/events?event=after-the-storm`;
  await waitFor('the event', async () => (await totalOf(client, cluster, exported)) === 1, 60_000);
  client.close();
  for (const [process, name] of [
    ['processor', 'footfall_processor_dead_letters_total'],
    ['processor', 'footfall_processor_lane_failures_total'],
    ['processor', 'footfall_entities_dead_letters_total'],
    ['processor', 'footfall_entities_lane_failures_total'],
  ] as const)
    expect([name, await cluster.metric(process, name)]).toEqual([name, 0]);
}

/** Headers of every kind of sender, and of none. */
function headersFrom(
  random: SeededRandom,
  { write, root }: Cluster['credentials']['clients'],
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (random.chance(0.9)) headers['service-client-id'] = random.chance(0.9) ? write.id : root.id;
  if (random.chance(0.02)) headers['service-client-id'] = random.one(['x', ' ', '0'.repeat(5000)]);
  if (random.chance(0.7)) headers['service-client-secret'] = random.chance(0.97) ? write.secret : 'sec_wrong';
  if (headers['service-client-id'] === root.id) headers['service-client-secret'] = root.secret;
  headers['user-agent'] = random.one(USER_AGENTS);
  if (random.chance(0.3)) headers.origin = random.one(ORIGINS);
  if (random.chance(0.3)) headers['service-client-ip'] = random.one(ADDRESSES);
  if (random.chance(0.1)) headers['x-forwarded-for'] = random.one(ADDRESSES);
  if (random.chance(0.1))
    headers['idempotency-key'] = random.chance(0.5) ? `k${random.below(50)}` : 'k'.repeat(65);
  if (random.chance(0.05))
    headers['sec-ch-ua'] = random.one(['"', '"Chromium";v="126", "Brave";v="126"', ';v=;', '\\']);
  const type = random.one([
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'text/html',
    '',
  ]);
  if (type !== '') headers['content-type'] = type;
  return headers;
}

/**
 * Every answer is JSON: two ids, a verdict on a bot or a filter, the results of a batch, or an error with its reason.
 */
function isAnswerOf({ status, body }: Answer): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const answer = body as Readonly<Record<string, unknown>>;
  if (status === 202) return 'bot' in answer || answer.filtered === true;
  if (status !== 200) return answer.status === status && String(answer.message).length > 3;
  if ('accepted' in answer) return Number.isInteger(answer.accepted) && Array.isArray(answer.rejected);
  return typeof answer.deviceId === 'string' && typeof answer.sessionId === 'string';
}

function residentOf(cluster: Cluster) {
  return {
    web: residentBytes(cluster.process('web').pid),
    processor: residentBytes(cluster.process('processor').pid),
  };
}

async function totalOf(client: Client, cluster: Cluster, url: string): Promise<number> {
  const { body } = await client.get(url, cluster.credentials.clients.read);
  return (body as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0;
}
