import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { TestSocket } from '../../infra/testing/test-socket.ts';
import { SENT_EVERY_MS } from '../../query/live/live-hub.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { PAGE_ORIGIN, SiteOfCluster } from '../cluster/site-of-cluster.ts';

// Live numbers as clients see them, over a real service: they rise with each event, and a process that is killed neither
// makes them wrong nor stays unnoticed.

const PATIENCE = { timeout: 15_000, interval: 20 };
/** For requests, which are limited. */
const SLOWLY = { timeout: 15_000, interval: 200 };
/** From a request to the number on every connection. What is promised is a tenth of a second; the machine is shared. */
const SEEN_MAX_MS = 400;
const FOLLOWED = '/live/demo';
const TEXT = '/live/visitors/demo';
const ADDRESS_MAX = 12;

let cluster: Cluster;
let site: SiteOfCluster;
let url = '';

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], other: ['query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', SECRETS_KEY: '7'.repeat(64) },
    envOf: { other: { LIVE_CONNECTIONS_PER_ADDRESS_MAX: String(ADDRESS_MAX), LIVE_CONNECTIONS_MAX: '16' } },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
  url = cluster.url('web');
  await site.change({ publicWidget: true, cors: [PAGE_ORIGIN] });
  await waitFor('a public site', async () => (await fetch(`${url}${FOLLOWED}.json`)).ok, PATIENCE.timeout);
});

afterAll(async () => {
  await cluster?.stop();
});

/** The numbers of an event stream, as they come; and everything that came. */
class Events {
  readonly numbers: number[] = [];
  text = '';
  isOver = false;
  readonly #abort = new AbortController();

  static async open(address: string, headers: Record<string, string> = {}): Promise<Events> {
    const events = new Events();
    const response = await fetch(address, { headers, signal: events.#abort.signal });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    void events.#read(response);
    return events;
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const chunk of must(response.body, 'a body')) {
        this.text += Buffer.from(chunk).toString('utf8');
        const found = this.text.match(/^data: .*$/gm) ?? [];
        this.numbers.length = 0;
        this.numbers.push(...found.map((line) => numberIn(line.slice(6))));
      }
    } catch {
      // Cut off, which is over as well.
    }
    this.isOver = true;
  }

  close(): void {
    this.#abort.abort();
  }
}

function numberIn(text: string): number {
  return (JSON.parse(text) as { visitors: number }).visitors;
}

async function visit(): Promise<void> {
  const { status } = await site.send('track', {
    name: 'screen_view',
    properties: { __deviceId: site.freshDevice(), __path: '/pricing' },
  });
  expect(status).toBe(200);
}

async function shown(): Promise<number> {
  return numberIn(await (await fetch(`${url}${FOLLOWED}.json`)).text());
}

test('every kind of connection sees each visitor soon after the event', async () => {
  const before = await shown();
  const json = await TestSocket.open(url + FOLLOWED);
  const text = await TestSocket.open(url + TEXT);
  const events = await Events.open(`${url}${FOLLOWED}/events`);
  const other = await TestSocket.open(cluster.url('other') + TEXT);
  await expect
    .poll(() => [json.last && numberIn(json.last), text.last, events.numbers.at(-1), other.last], PATIENCE)
    .toEqual([before, String(before), before, String(before)]);
  const delaysMs: number[] = [];
  for (let more = 1; more <= 5; more += 1) {
    const sentAtMs = Date.now();
    await visit();
    await expect
      .poll(() => [text.last, events.numbers.at(-1), other.last], PATIENCE)
      .toEqual([String(before + more), before + more, String(before + more)]);
    const seenAtMs = must(text.messages.at(-1), 'a number').atMs;
    delaysMs.push(seenAtMs - sentAtMs);
    // A number that follows another one sooner waits for its turn.
    await expect.poll(() => Date.now() - seenAtMs).toBeGreaterThan(SENT_EVERY_MS);
  }
  process.stdout.write(`from the request to the number: ${delaysMs.join(', ')} ms\n`);
  expect(Math.min(...delaysMs)).toBeLessThan(SEEN_MAX_MS);
  // Each number once, and none that was not there.
  expect(text.texts).toEqual(Array.from({ length: 6 }, (_, more) => String(before + more)));
  expect(json.texts.map(numberIn)).toEqual(text.texts.map(Number));
  expect(events.numbers).toEqual(text.texts.map(Number));
  expect(events.text).toMatch(/^retry: \d+\n\n/);
  expect(await (await fetch(url + TEXT)).text()).toBe(String(before + 5));
  for (const one of [json, text, other]) one.destroy();
  events.close();
});

test('many visitors at once are few messages, the last of which is right', async () => {
  const before = await shown();
  const socket = await TestSocket.open(url + TEXT);
  await expect.poll(() => socket.last).toBe(String(before));
  const startedAtMs = Date.now();
  await Promise.all(Array.from({ length: 100 }, visit));
  await expect.poll(() => socket.last, PATIENCE).toBe(String(before + 100));
  const seconds = (Date.now() - startedAtMs) / 1_000;
  expect(socket.messages.length).toBeLessThanOrEqual(2 + Math.ceil(4 * seconds));
  socket.destroy();
});

async function statusOf(path: string, headers: Record<string, string> = {}): Promise<number> {
  return (await fetch(url + path, { headers })).status;
}

describe('while a process is killed', () => {
  test('the processor: no number is false, and the next event counts on the same connection', async () => {
    const before = await shown();
    expect(before).toBeGreaterThan(0);
    const socket = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    await expect.poll(() => [socket.last, events.numbers.at(-1)]).toEqual([String(before), before]);
    await cluster.kill('processor');
    // Accepted and not yet counted.
    await visit();
    const late = await TestSocket.open(url + TEXT);
    // A number that an owner told lives for a third of a second.
    await expect.poll(() => statusOf(`${FOLLOWED}.json`), SLOWLY).toBe(503);
    const badge = await (await fetch(`${url}${FOLLOWED}.svg`)).text();
    expect(badge).toContain('–');
    expect((await TestSocket.open(url + TEXT)).texts).toEqual([]);
    expect(late.texts.filter((text) => text !== String(before))).toEqual([]);
    await cluster.restart('processor');
    const wanted = String(before + 1);
    await expect
      .poll(() => [socket.last, events.numbers.at(-1), late.last], PATIENCE)
      .toEqual([wanted, before + 1, wanted]);
    const seen = [...socket.texts, ...late.texts].map(Number).concat(events.numbers);
    expect(seen.filter((number) => number < before)).toEqual([]);
    for (const one of [socket, late]) one.destroy();
    events.close();
  });

  test('the one that answers: connections end, and new ones begin with a true number', async () => {
    const before = await shown();
    const socket = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    await expect.poll(() => [socket.last, events.numbers.length]).toEqual([String(before), 1]);
    await cluster.kill('web');
    await expect.poll(() => [socket.closeCode, events.isOver], PATIENCE).toEqual([1006, true]);
    await cluster.restart('web');
    const again = await TestSocket.open(url + TEXT);
    await expect.poll(() => again.texts[0], PATIENCE).toBe(String(before));
    again.destroy();
  });

  test('one that is stopped says so', async () => {
    const socket = await TestSocket.open(cluster.url('other') + TEXT);
    await expect.poll(() => socket.last, PATIENCE).toBeDefined();
    await cluster.restart('other');
    await expect.poll(() => socket.closeCode, PATIENCE).toBe(1012);
  });
});

describe('who may see', () => {
  const clientHeaders = () => {
    const { id, secret } = cluster.credentials.clients.read;
    return { 'service-client-id': id, 'service-client-secret': secret };
  };
  test('pages of the site and of the service see a public site, others do not', async () => {
    for (const origin of [PAGE_ORIGIN, 'https://www.shop.example', url]) {
      expect([origin, await statusOf(`${FOLLOWED}.json`, { origin })]).toEqual([origin, 200]);
      (await TestSocket.open(url + FOLLOWED, { origin })).destroy();
    }
    for (const origin of ['https://evil.example', 'null', 'https://shop.example.evil.example']) {
      expect([origin, await statusOf(`${FOLLOWED}.json`, { origin })]).toEqual([origin, 403]);
      expect(await TestSocket.connect(url + FOLLOWED, { origin })).toMatchObject({ status: 403 });
    }
    expect(await statusOf('/live/nothing.json')).toBe(404);
    expect(await TestSocket.connect(`${url}/live/nothing`)).toMatchObject({ status: 404 });
    expect(await statusOf(`${FOLLOWED}.svg?color=plaid`)).toBe(400);
  });

  test('a private site needs a client or a token; what is open ends when the access does', async () => {
    const publicly = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    const asked = await site.ask('/insights/demo/live/token?ttl=3');
    const token = String(asked.body.token);
    const byToken = await TestSocket.open(`${url}${TEXT}?token=${token}`);
    const byClient = await TestSocket.open(url + TEXT, clientHeaders());
    const startedAtMs = Date.now();
    await site.change({ publicWidget: false });
    await expect.poll(() => [publicly.closeCode, events.isOver], PATIENCE).toEqual([4403, true]);
    expect(Date.now() - startedAtMs).toBeLessThan(2_000);
    expect(byToken.closeCode).toBeUndefined();
    for (const path of [
      `${FOLLOWED}.json`,
      `${FOLLOWED}.svg`,
      `${FOLLOWED}/events`,
      `${FOLLOWED}/embed`,
      TEXT,
    ])
      expect([path, await statusOf(path)]).toEqual([path, 401]);
    expect(await TestSocket.connect(url + TEXT)).toMatchObject({ status: 401 });
    expect(await statusOf(`${FOLLOWED}.json`, clientHeaders())).toBe(200);
    expect(await statusOf(`${FOLLOWED}.json?token=${token}`)).toBe(200);
    expect(await statusOf(`${FOLLOWED}.json?token=${token.slice(0, -2)}`)).toBe(401);
    expect(await statusOf('/live/other.json', clientHeaders())).toBe(403);
    await expect.poll(() => byToken.closeCode, PATIENCE).toBe(4403);
    expect(Date.now()).toBeLessThan(Date.parse(String(asked.body.expiresAt)) + 2_000);
    expect(await statusOf(`${FOLLOWED}.json?token=${token}`)).toBe(401);
    expect(byClient.closeCode).toBeUndefined();
    byClient.destroy();
    await site.change({ publicWidget: true });
    await expect.poll(() => statusOf(`${FOLLOWED}.json`), SLOWLY).toBe(200);
  });

  test('an address and a site have so many connections, and one more says when to retry', async () => {
    const there = cluster.url('other');
    await expect
      .poll(
        () =>
          fetch(`${there}${TEXT}`).then(
            ({ status }) => status,
            () => 0,
          ),
        PATIENCE,
      )
      .toBe(200);
    const open = await Promise.all(Array.from({ length: 8 }, () => TestSocket.open(there + TEXT)));
    const full = await TestSocket.connect(there + TEXT);
    expect(full).toMatchObject({ status: 503, headers: { 'retry-after': '30' } });
    expect(full).toMatchObject({ text: expect.stringContaining('for this site') });
    expect(await statusAt(`${there}${FOLLOWED}/events`)).toBe(503);
    open[0]?.destroy();
    await expect.poll(() => statusAtSocket(there + TEXT), PATIENCE).toBe(101);
    for (const one of open) one.destroy();
  });

  const statusAt = async (address: string) => (await fetch(address)).status;
  const statusAtSocket = async (address: string) => {
    const connected = await TestSocket.connect(address);
    if (!(connected instanceof TestSocket)) return connected.status;
    connected.destroy();
    return 101;
  };
});
