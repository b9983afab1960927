import { afterAll, beforeAll, expect, test } from 'vitest';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { type Answer, Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';

const SITE = 'demo';
const HOSTS = ['first', 'second'] as const;
const WAIT_MAX_MS = 60_000;
const TRIES_MAX = 60;

let cluster: Cluster;
let client: Client;
let othersSent = 0;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { first: ['ingest', 'query'], second: ['ingest'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '150', LEASE_MS: '2000', LOG_LEVEL: 'warn' },
  });
  client = new Client(128);
  await cluster.ready('first');
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

/** Sends a body until it is accepted: a 503 is repeated under the same key, as a sender should. */
async function sendSurely(host: string, key: string, body: object): Promise<void> {
  const { write } = cluster.credentials.clients;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await client
      .post(`${cluster.url(host)}/track`, write, { 'idempotency-key': key }, JSON.stringify(body))
      .catch((): Answer => ({ status: 0, retryAfterS: 0, body: '' }));
    if (answer.status === 200) return;
    if ((answer.status !== 503 && answer.status !== 0) || attempt === TRIES_MAX)
      throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function propertiesOf(profileId: string): Promise<Readonly<Record<string, string>>> {
  const url = `${cluster.url('first')}/insights/${SITE}/profiles/${profileId}`;
  const { status, body } = await client.get(url, cluster.credentials.clients.read);
  return status === 200 ? (body as { properties: Record<string, string> }).properties : {};
}

/** Makes the processor die when it reaches a crash point again, and starts it once more. */
async function dieAt(armed: string): Promise<void> {
  const processor = cluster.process('processor');
  await processor.kill();
  processor.launch({ CRASH_POINT: armed });
  await waitFor(`the death at ${armed}`, () => !processor.running, WAIT_MAX_MS);
  expect(processor.ending).toBe('SIGKILL');
  await processor.start();
}

/**
 * Sends updates of another profile until the processor dies. If it starts so slowly that all other updates wait for it, it
 * takes them together, and dies at a later one.
 */
async function sendOthersUntil(dying: Promise<void>): Promise<void> {
  let isOver = false;
  const over = dying.finally(() => {
    isOver = true;
  });
  const sending = (async () => {
    while (!isOver) {
      othersSent += 1;
      const payload = { profileId: 'someone-else', property: 'count', value: 1 };
      await sendSurely('first', `other-${othersSent}`, { type: 'increment', payload });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  await Promise.all([over, sending]);
}

const points = CRASH_POINTS.filter((point) => point.startsWith('entities:'));

test('an export has every acknowledged update of its profiles at once, in every format of text', async () => {
  const { id, secret } = cluster.credentials.clients.read;
  const headers = { 'service-client-id': id, 'service-client-secret': secret };
  const exported = async (extension: string) => {
    const query = 'includes=profile&profileId=exported';
    const answer = await fetch(
      `${cluster.url('first')}/export/events${extension}?projectId=${SITE}&${query}`,
      {
        headers,
      },
    );
    return answer.text();
  };
  const track = { name: 'seen', profileId: 'exported', properties: { __deviceId: 'exported' } };
  await sendSurely('first', 'exported', { type: 'track', payload: track });
  await waitFor('the event', async () => (await exported('.ndjson')).includes('"seen"'), WAIT_MAX_MS);
  for (let round = 1; round <= 8; round += 1) {
    const email = `round-${round}@example.org`;
    const payload = { profileId: 'exported', email, properties: { round: String(round) } };
    await sendSurely(HOSTS[round % 2] ?? 'first', `exported-${round}`, { type: 'identify', payload });
    for (const extension of ['', '.csv', '.ndjson'] as const)
      expect(await exported(extension)).toContain(email);
  }
});

test.each(points)(
  '1,000 increments from two collectors are exactly 1,000, though the processor dies at %s',
  async (point) => {
    const profileId = `counter-${points.indexOf(point)}`;
    const dying = dieAt(`${point}:after=${point === 'entities:after-publish' ? 10 : 1}`);
    const sending = Array.from({ length: 1_000 }, async (_, index) => {
      const payload = { profileId, property: 'count', value: index % 2 === 0 ? 0.5 : 1.5 };
      // A different moment for each, so that the death falls between messages for any start time of the processor.
      await new Promise((resolve) => setTimeout(resolve, index * 5));
      await sendSurely(HOSTS[index % 2] ?? 'first', `${profileId}-${index}`, { type: 'increment', payload });
    });
    await Promise.all([...sending, sendOthersUntil(dying)]);
    await waitFor('the sum', async () => (await propertiesOf(profileId)).count === '1000', WAIT_MAX_MS);
  },
);

/** One fact about an order. Amounts are in minor units. */
interface Said {
  readonly orderId: string;
  readonly currency: string;
  readonly amount: number | undefined;
  readonly isRefund: boolean;
}

/** The expected totals, whatever the order of arrival: each order once, less its refunds, which never exceed it. */
function expectedTotals(said: readonly Said[]): Readonly<Record<string, number>> {
  const totals: Record<string, number> = {};
  for (const orderId of new Set(said.map((each) => each.orderId))) {
    const orders = said.filter((each) => each.orderId === orderId && !each.isRefund);
    const refunds = said.filter((each) => each.orderId === orderId && each.isRefund);
    const first = orders[0];
    if (first === undefined) continue;
    const amount = first.amount ?? 0;
    const wanted = refunds.reduce((sum, refund) => sum + (refund.amount ?? amount), 0);
    totals[first.currency] = (totals[first.currency] ?? 0) + amount - Math.min(amount, wanted);
  }
  return Object.fromEntries(Object.entries(totals).filter(([, total]) => total !== 0));
}

const DECIMALS: Readonly<Record<string, number>> = { USD: 2, EUR: 2, JPY: 0, KWD: 3 };

function sayings(random: SeededRandom, orders: number): Said[] {
  const said: Said[] = [];
  for (let index = 0; index < orders; index += 1) {
    const orderId = `order-${index}`;
    const currency = random.one(['USD', 'EUR', 'JPY', 'KWD']);
    const amount = random.integer(0, 9_999);
    const times = random.chance(0.1) ? 0 : random.integer(1, 3);
    for (let time = 0; time < times; time += 1) said.push({ orderId, currency, amount, isRefund: false });
    for (let refunds = random.integer(0, 3); refunds > 0; refunds -= 1) {
      const part = random.chance(0.3) ? undefined : random.integer(0, 6_000);
      said.push({ orderId, currency, amount: part, isRefund: true });
    }
  }
  // Orders and refunds in any order, including a refund before its order.
  for (let index = said.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [said[index], said[other]] = [said[other] as Said, said[index] as Said];
  }
  return said;
}

function bodyOf(
  { orderId, currency, amount, isRefund }: Said,
  deviceId: string,
  random: SeededRandom,
): object {
  const decimals = DECIMALS[currency] ?? 2;
  const major = amount === undefined ? undefined : amount / 10 ** decimals;
  const claim = random.chance(0.3) && amount !== undefined ? { __revenue: amount } : { __amount: major };
  const named = !isRefund || random.chance(0.5) ? { __currency: currency } : {};
  const refund = isRefund ? { __refund: true } : {};
  const properties = { ...claim, ...named, ...refund, __orderId: orderId, __deviceId: deviceId };
  return { type: 'track', payload: { name: 'revenue', properties } };
}

test('orders and refunds in any order from two collectors, past three deaths, come to the exact totals', async () => {
  const random = new SeededRandom(7);
  const said = sayings(random, 150);
  const dying = (async () => {
    for (const point of points) await dieAt(`${point}:after=1`);
  })();
  await Promise.all([
    ...said.map(async (each, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 30));
      const body = bodyOf(each, `buyer-${index % 20}`, random);
      await sendSurely(random.one(HOSTS), `said-${index}`, body);
      // The same message again, as a webhook that is delivered twice.
      if (random.chance(0.2)) await sendSurely(random.one(HOSTS), `said-${index}`, body);
    }),
    sendOthersUntil(dying),
  ]);
  const expected = Object.fromEntries(
    Object.entries(expectedTotals(said)).map(([currency, total]) => [
      currency,
      Number(`${total}e-${DECIMALS[currency]}`),
    ]),
  );
  const url = `${cluster.url('first')}/insights/${SITE}/metrics?range=today`;
  let totals: unknown;
  await waitFor(
    `the totals ${JSON.stringify(expected)}`,
    async () => {
      const { body } = await client.get(url, cluster.credentials.clients.read);
      totals = (body as { metrics?: { revenue_by_currency?: unknown } }).metrics?.revenue_by_currency;
      return JSON.stringify(sorted(totals)) === JSON.stringify(sorted(expected));
    },
    WAIT_MAX_MS,
  ).catch(() => undefined);
  expect(totals).toEqual(expected);
});

function sorted(totals: unknown): unknown {
  return Object.entries((totals ?? {}) as object).sort(([a], [b]) => (a < b ? -1 : 1));
}
