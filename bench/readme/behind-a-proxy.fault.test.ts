import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findProgram } from '../../infra/testing/debian-program.ts';
import type { OwnProcess } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { PROXIES, type ProxyName, startProxy } from './proxy-server.ts';

// The service behind real reverse proxies, with exactly the lines of infra/operations/proxy.md.

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/127.0';
/** Two visitors. The whole of 127.0.0.0/8 is this machine, and the proxies connect from 127.0.0.1. */
const [ADA, BOB] = ['127.0.0.2', '127.0.0.3'] as const;
const TOKEN = 'a-token-of-the-operator';
const NAMES: readonly ProxyName[] = ['nginx', 'caddy', 'haproxy'];
const programs = new Map<ProxyName, string | undefined>();
for (const name of NAMES) programs.set(name, await findProgram(PROXIES[name].wanted));

let cluster: Cluster;
let folder = '';
let running: OwnProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-proxy-'));
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], bare: ['ingest'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '200' },
    envOf: { web: { TRUSTED_PROXIES: '127.0.0.1', OPERATIONS_TOKEN: TOKEN } },
  });
  await cluster.ready('web');
});

afterEach(async () => {
  for (const proxy of running) await proxy.kill();
  running = [];
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(NAMES)('behind %s with the lines of its page', (name) => {
  const program = programs.get(name) ?? '';

  /** Starts the proxy in front of `target` and returns its URL. */
  async function behind(target: string): Promise<string> {
    const port = await freePort();
    running.push(await startProxy(name, { program, folder: join(folder, `${name}-${port}`), port, target }));
    return `http://127.0.0.1:${port}`;
  }

  test.skipIf(program === '')('two visitors are two devices, whatever address they claim', async () => {
    const url = await behind(new URL(cluster.url('web')).host);
    const ada = await sendView(url, ADA);
    const bob = await sendView(url, BOB);
    expect(ada).toMatch(/^[0-9a-f]{32}$/);
    expect(bob).not.toBe(ada);
    expect(await sendView(url, ADA)).toBe(ada);
    const claims = {
      'x-forwarded-for': BOB,
      'cf-connecting-ip': BOB,
      'x-real-ip': BOB,
      forwarded: `for=${BOB}`,
      'service-client-ip': BOB,
      'openpanel-client-ip': BOB,
    };
    expect(await sendView(url, ADA, claims)).toBe(ada);
    const health = await exchange(`${url}/healthz/ready`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect([health.status, JSON.parse(health.text)]).toMatchObject([200, { status: 'ready', warnings: [] }]);
    // A stranger behind the proxy is a peer on this machine, too.
    expect((await exchange(`${url}/metrics`)).status).toBe(401);
    expect((await exchange(`${url}/healthz/ready`)).text).toBe('{"status":"ready"}');
  });

  test.skipIf(program === '')('a long body arrives, and an export streams, compressed or not', async () => {
    const url = await behind(new URL(cluster.url('web')).host);
    const { write, read } = cluster.credentials.clients;
    const filler = 'x'.repeat(4_000);
    const bodies = Array.from({ length: 600 }, (_, index) => ({
      type: 'track',
      payload: { name: `${name}_long`, properties: { __deviceId: `device-${index}`, filler } },
    }));
    const batch = await exchange(`${url}/track/batch`, {
      method: 'POST',
      headers: { ...secretsOf(write), 'content-type': 'application/json' },
      body: JSON.stringify(bodies),
    });
    expect(JSON.parse(batch.text)).toEqual({ accepted: 600, rejected: [] });
    const path = `/export/events.ndjson?event=${name}_long&includes=properties`;
    const exported = (base: string, packed: Record<string, string>) =>
      exchange(base + path, { headers: { ...secretsOf(read), ...packed } });
    const direct = cluster.url('web');
    await expect.poll(async () => (await exported(direct, {})).text.split('\n').length, WAIT).toBe(601);
    const plain = await exported(direct, {});
    expect(await exported(url, {})).toEqual(plain);
    expect(await exported(url, { 'accept-encoding': 'gzip' })).toEqual({ ...plain, encoding: 'gzip' });
  });

  test.skipIf(program === '')('events of a stream arrive one by one, and a WebSocket opens', async () => {
    const server = await startLongLived();
    try {
      const url = await behind(`127.0.0.1:${portOf(server)}`);
      const stream = await responseTo(`${url}/stream`);
      // The server sends the second event when it knows that the first one has arrived.
      const events = stream[Symbol.asyncIterator]();
      expect(String((await events.next()).value)).toBe('data: 1\n\n');
      expect((await exchange(`${url}/next`)).status).toBe(200);
      expect(String((await events.next()).value)).toBe('data: 2\n\n');
      stream.destroy();
      expect(await echoOverUpgrade(url, 'ping')).toBe('ping');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

test('forwarding headers of a proxy that is not trusted: one device, and a warning that names the setting', async () => {
  const url = cluster.url('bare');
  const ready = async () => JSON.parse((await exchange(`${url}/healthz/ready`)).text);
  const counted = async () =>
    /^http_forwarding_ignored_total\{peer="loopback"\} (\d+)$/m.exec(
      (await exchange(`${url}/metrics`)).text,
    )?.[1];
  const device = await sendView(url, '127.0.0.1');
  expect((await ready()).warnings).toEqual([]);
  expect(await counted()).toBe('0');

  expect(await sendView(url, '127.0.0.1', { 'x-forwarded-for': '8.8.8.8' })).toBe(device);
  expect(await sendView(url, '127.0.0.1', { forwarded: 'for=9.9.9.9' })).toBe(device);
  const health = await exchange(`${url}/healthz/ready`);
  expect(health.status).toBe(200);
  expect(JSON.parse(health.text)).toMatchObject({
    status: 'ready',
    warnings: [
      { setting: 'TRUSTED_PROXIES', message: expect.stringContaining('a loopback address'), requests: 2 },
    ],
  });
  expect(await counted()).toBe('2');
  const lines = cluster
    .process('bare')
    .log()
    .split('\n')
    .filter((line) => line.includes('TRUSTED_PROXIES'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, peer: 'a loopback address' }]);
  for (const address of ['127.0.0.1', '8.8.8.8', '9.9.9.9']) expect(lines[0]).not.toContain(address);
});

const WAIT = { timeout: 60_000, interval: 300 };

interface Exchange {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The address that the request comes from. */
  readonly from?: string;
}

function responseTo(
  url: string,
  { method = 'GET', headers = {}, body, from = ADA }: Exchange = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, localAddress: from, agent: false }, resolve);
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

async function exchange(
  url: string,
  options: Exchange = {},
): Promise<{ status: number; encoding: string; text: string }> {
  const response = await responseTo(url, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const encoding = response.headers['content-encoding'] ?? '';
  const text = (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
  return { status: response.statusCode ?? 0, encoding, text };
}

function secretsOf({ id, secret }: { readonly id: string; readonly secret: string }): Record<string, string> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}

/** Sends a screen view as a page does, without a secret; returns the device. */
async function sendView(url: string, from: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await exchange(`${url}/track`, {
    method: 'POST',
    from,
    headers: {
      'content-type': 'application/json',
      'user-agent': BROWSER,
      origin: 'https://shop.example',
      'service-client-id': cluster.credentials.clients.write.id,
      ...headers,
    },
    body: JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties: { __path: '/' } } }),
  });
  expect(answer.status).toBe(200);
  return (JSON.parse(answer.text) as { deviceId: string }).deviceId;
}

/** A server with a stream whose second event waits for a request, and with an upgrade that echoes. */
async function startLongLived(): Promise<Server> {
  let next = () => {};
  const server = createServer((incoming, response) => {
    if (incoming.url === '/next') {
      next();
      response.end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    next = () => void response.write('data: 2\n\n');
  });
  server.on('upgrade', (incoming, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    const accepted = createHash('sha1')
      .update(`${incoming.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const head = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket'];
    socket.write(`${[...head, `sec-websocket-accept: ${accepted}`].join('\r\n')}\r\n\r\n`);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** Upgrades a connection like a browser does for a WebSocket, sends a text over it and returns the reply. */
function echoOverUpgrade(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16, 7).toString('base64'),
    };
    const outgoing = request(`${url}/socket`, { headers, agent: false });
    outgoing.once('upgrade', (_response, socket) => {
      socket.once('data', (bytes: Buffer) => {
        resolve(bytes.toString('utf8'));
        socket.destroy();
      });
      socket.write(text);
    });
    outgoing.once('response', ({ statusCode }) => reject(new Error(`no upgrade: ${statusCode}`)));
    outgoing.once('error', reject);
    outgoing.end();
  });
}
