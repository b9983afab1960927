import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { HttpServer } from './http.ts';

const CHUNK = Uint8Array.from({ length: 65_536 }, (_, index) => index % 251);
/** Longer than the window of gzip, so that repeating it does not make a stream shorter. */
const RANDOM_CHUNK = randomBytes(65_536);
const CHUNKS = 1_000;
const PATIENCE = { timeout: 60_000 };
/** Chunks that may be under way between a source and a reader that has stopped: in buffers of the sockets and of the library. */
const UNDER_WAY_MAX = 200;

interface Source {
  given: number;
  isOver: boolean;
  readonly cut: AbortController;
  /** True if the reply reports that its peer has gone. */
  isGone: boolean;
}

let server: HttpServer;
let port: number;
const sources = new Map<string, Source>();
const failures: unknown[] = [];

beforeAll(async () => {
  server = new HttpServer((error) => failures.push(error));
  server.route({
    method: 'get',
    pattern: '/chunks/:name',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => head.parameter(0),
    answer: async (name, _body, reply) => {
      const source = { given: 0, isOver: false, cut: new AbortController(), isGone: false };
      sources.set(name, source);
      reply.gone.addEventListener('abort', () => {
        source.isGone = true;
      });
      const type = name.endsWith('.ndjson') ? 'application/x-ndjson' : 'application/x-things';
      await reply.stream(200, [['content-type', type]], chunksOf(name, source), source.cut.signal);
    },
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close());

async function* chunksOf(name: string, source: Source): AsyncGenerator<Uint8Array> {
  try {
    if (name === 'broken-at-once') throw new Error('nothing at all');
    if (name === 'empty') return;
    if (name === 'never')
      await new Promise((resolve) => source.cut.signal.addEventListener('abort', resolve));
    for (; source.given < CHUNKS; source.given += 1) {
      if (name === 'broken' && source.given === 3) throw new Error('in the middle');
      yield name.endsWith('.ndjson') ? RANDOM_CHUNK : CHUNK;
    }
  } finally {
    source.isOver = true;
  }
}

async function open(
  name: string,
  headers = {},
): Promise<{ outgoing: ClientRequest; incoming: IncomingMessage }> {
  const outgoing = get({ host: '127.0.0.1', port, path: `/chunks/${name}`, headers });
  outgoing.on('error', () => {}); // The tests see the error at `incoming`.
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { outgoing, incoming };
}

/** Counts the bytes that arrive; throws unless they equal the sent bytes, in that order. */
async function bytesIn(incoming: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>)
    for (let at = 0; at < chunk.length; ) {
      const from = bytes % CHUNK.length;
      const length = Math.min(chunk.length - at, CHUNK.length - from);
      if (chunk.compare(CHUNK, from, from + length, at, at + length) !== 0)
        throw new Error(`other bytes than were sent, behind ${bytes}`);
      at += length;
      bytes += length;
    }
  return bytes;
}

test('a streamed body arrives completely, with its headers', async () => {
  const { incoming } = await open('whole');
  expect(incoming.headers).toMatchObject({ 'content-type': 'application/x-things' });
  expect(await bytesIn(incoming)).toBe(CHUNKS * CHUNK.length);
  await expect.poll(() => server.inFlight).toBe(0);
  expect(sources.get('whole')?.isGone).toBe(false);
});

test('a stream without chunks is an empty body', async () => {
  const { incoming } = await open('empty');
  expect([incoming.statusCode, await bytesIn(incoming)]).toEqual([200, 0]);
});

test('while the reader takes nothing, hardly anything is read from the source', async () => {
  const { incoming } = await open('slow');
  const source = sources.get('slow') ?? { given: 0 };
  const seen: number[] = [];
  // Until the source pauses.
  await expect
    .poll(() => seen.push(source.given) > 1 && seen.at(-1) === seen.at(-2), { interval: 300 })
    .toBe(true);
  expect(source.given).toBeLessThan(UNDER_WAY_MAX);
  expect(await bytesIn(incoming)).toBe(CHUNKS * CHUNK.length);
});

// The library closes the connection of a reader that takes nothing for eight to twelve seconds.
test('a reader that pauses for fifteen seconds still gets everything', async () => {
  const { incoming } = await open('paused');
  incoming.pause();
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  expect(await bytesIn(incoming)).toBe(CHUNKS * CHUNK.length);
});

test('a reader that goes away ends the source', async () => {
  const { outgoing } = await open('left');
  outgoing.destroy();
  await expect.poll(() => sources.get('left')?.isOver).toBe(true);
  expect(sources.get('left')?.given).toBeLessThan(UNDER_WAY_MAX);
  await expect.poll(() => server.inFlight).toBe(0);
});

test('after an error before the first chunk, another answer is given', async () => {
  const { incoming } = await open('broken-at-once');
  expect(incoming.statusCode).toBe(500);
  expect(failures.splice(0).map(String)).toEqual(['Error: nothing at all']);
});

test('an error after the first chunk cuts the connection, so that the part is not taken for the whole', async () => {
  const { incoming } = await open('broken');
  expect(incoming.statusCode).toBe(200);
  await expect(bytesIn(incoming)).rejects.toThrow('aborted');
  expect(failures.splice(0).map(String)).toEqual(['Error: in the middle']);
  await expect.poll(() => server.inFlight).toBe(0);
});

test.each([
  ['cut', {}],
  ['cut.ndjson', { 'accept-encoding': 'gzip' }],
])(
  'a stream that is cut while its reader is slow ends the source and the connection at once: %s',
  async (name, headers) => {
    const { incoming } = await open(name, headers);
    const source = must(sources.get(name), 'it was opened');
    const seen: number[] = [];
    // Until the source pauses.
    await expect
      .poll(() => seen.push(source.given) > 1 && seen.at(-1) === seen.at(-2), { interval: 300, ...PATIENCE })
      .toBe(true);
    source.cut.abort(new Error('others wait'));
    await expect.poll(() => source.isOver, PATIENCE).toBe(true);
    expect(source.given).toBeLessThan(CHUNKS);
    await expect.poll(() => server.inFlight, PATIENCE).toBe(0);
    expect(failures.splice(0).map(String)).toEqual(['Error: others wait']);
    // Data on its way still arrives, but not the last chunk.
    await expect(
      (async () => {
        for await (const _ of incoming) {
          // Only the end matters.
        }
      })(),
    ).rejects.toThrow('aborted');
  },
);

test('a peer that goes away before there is anything to send is noticed at once', async () => {
  const outgoing = get({ host: '127.0.0.1', port, path: '/chunks/never' });
  outgoing.on('error', () => {});
  await expect.poll(() => sources.get('never'), PATIENCE).toBeDefined();
  const source = must(sources.get('never'), 'it was opened');
  expect(source.isGone).toBe(false);
  outgoing.destroy();
  await expect.poll(() => source.isGone, PATIENCE).toBe(true);
  source.cut.abort();
  await expect.poll(() => source.isOver, PATIENCE).toBe(true);
});
