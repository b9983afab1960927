import { createCipheriv } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HttpServer } from './http.ts';

// Streams that are compressed while they are sent. Random content does not shrink.

const ZEROS = new Uint8Array(65_536);
const CHUNKS = 1_000;
/** Chunks that may be under way between a source and a reader that has stopped: in buffers of the sockets and of the library. */
const UNDER_WAY_MAX = 200;
const LEFT_READERS = 100;
/** A compressor of gzip has 256 KB of native memory, one of Brotli more. */
const LEFT_BYTES_MAX = LEFT_READERS * 100_000;

interface CountedSource {
  given: number;
  isOver: boolean;
  /** Lets a source of one chunk continue. */
  goOn(): void;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let server: HttpServer;
let port: number;
const sources = new Map<string, CountedSource>();
const failures: unknown[] = [];

beforeAll(async () => {
  server = new HttpServer((error) => failures.push(error));
  server.route({
    method: 'get',
    pattern: '/chunks/:kind/:name',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => ({ kind: head.parameter(0), name: head.parameter(1) }),
    answer: async ({ kind, name }, _body, reply) => {
      const { source, chunks } = sourceOf(kind);
      sources.set(name, source);
      await reply.stream(200, [['content-type', 'application/x-ndjson; charset=utf-8']], chunks);
    },
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close());

function sourceOf(kind: string): {
  readonly source: CountedSource;
  readonly chunks: AsyncIterable<Uint8Array>;
} {
  let goOn = () => {};
  const goesOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const source: CountedSource = { given: 0, isOver: false, goOn };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (; source.given < CHUNKS; source.given += 1) {
        if (kind === 'broken' && source.given === 30) throw new Error('in the middle');
        if (kind === 'slow' && source.given === 1) await goesOn;
        if (kind === 'slow' && source.given === 2) return;
        yield kind === 'slow' ? Buffer.from(`{"row":${source.given}}\n`) : chunkAt(source.given);
      }
    } finally {
      source.isOver = true;
    }
  }
  return { source, chunks: chunks() };
}

/** The chunk at an index: the same every time, and no chunk repeats another. */
function chunkAt(index: number): Uint8Array<ArrayBuffer> {
  const start = Buffer.alloc(16);
  start.writeUInt32BE(index);
  return new Uint8Array(createCipheriv('aes-128-ctr', ZEROS.subarray(0, 16), start).update(ZEROS));
}

const ENCODINGS = ['gzip', 'br'] as const;
type Compression = (typeof ENCODINGS)[number];

async function open(
  kind: string,
  name: string,
  encoding: Compression,
): Promise<{ outgoing: ClientRequest; incoming: IncomingMessage }> {
  const headers = { 'accept-encoding': encoding };
  const outgoing = get({ host: '127.0.0.1', port, path: `/chunks/${kind}/${name}`, headers });
  outgoing.on('error', () => {}); // The tests see the error at `incoming`.
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(incoming.headers['content-encoding']).toBe(encoding);
  return { outgoing, incoming };
}

function decoded(incoming: IncomingMessage, encoding: Compression): AsyncIterable<Buffer> {
  return incoming.pipe(encoding === 'gzip' ? createGunzip() : createBrotliDecompress());
}

/** Counts the bytes; throws unless they equal the sent bytes, in that order. */
async function bytesIn(parts: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  let chunk = ZEROS;
  for await (const part of parts)
    for (let at = 0; at < part.length; ) {
      const from = bytes % ZEROS.length;
      if (from === 0) chunk = chunkAt(bytes / ZEROS.length);
      const length = Math.min(part.length - at, ZEROS.length - from);
      if (part.compare(chunk, from, from + length, at, at + length) !== 0)
        throw new Error(`other bytes than were sent, behind ${bytes}`);
      at += length;
      bytes += length;
    }
  return bytes;
}

describe.each(ENCODINGS)('a stream as %s', (encoding) => {
  test('waits for a reader that takes nothing, and arrives completely', async () => {
    const { incoming } = await open('whole', `whole-${encoding}`, encoding);
    const source = sources.get(`whole-${encoding}`) ?? { given: 0 };
    const seen: number[] = [];
    // Until the source pauses.
    await expect
      .poll(() => seen.push(source.given) > 1 && seen.at(-1) === seen.at(-2), { interval: 300 })
      .toBe(true);
    expect(source.given).toBeLessThan(UNDER_WAY_MAX);
    expect(await bytesIn(decoded(incoming, encoding))).toBe(CHUNKS * ZEROS.length);
    await expect.poll(() => server.inFlight).toBe(0);
  });

  test('shows what a slow source has given so far', async () => {
    const { incoming } = await open('slow', `slow-${encoding}`, encoding);
    const parts = decoded(incoming, encoding)[Symbol.asyncIterator]();
    expect(String((await parts.next()).value)).toBe('{"row":0}\n');
    sources.get(`slow-${encoding}`)?.goOn();
    expect(String((await parts.next()).value)).toBe('{"row":1}\n');
    expect((await parts.next()).done).toBe(true);
  });

  test('is cut where its source fails', async () => {
    const { incoming } = await open('broken', `broken-${encoding}`, encoding);
    await expect(incoming.toArray()).rejects.toThrow('aborted');
    expect(failures.splice(0).map(String)).toEqual(['Error: in the middle']);
    await expect.poll(() => server.inFlight).toBe(0);
  });

  test('leaves nothing behind when its reader goes away', async () => {
    const names = Array.from({ length: LEFT_READERS }, (_, index) => `left-${encoding}-${index}`);
    collectGarbage();
    const before = process.memoryUsage().external;
    for (const name of names) {
      const { outgoing } = await open('whole', name, encoding);
      outgoing.destroy();
    }
    await expect.poll(() => names.filter((name) => sources.get(name)?.isOver === false)).toEqual([]);
    expect(names.every((name) => (sources.get(name)?.given ?? CHUNKS) < UNDER_WAY_MAX)).toBe(true);
    await expect.poll(() => server.inFlight).toBe(0);
    await expect
      .poll(() => {
        collectGarbage();
        return process.memoryUsage().external - before;
      })
      .toBeLessThan(LEFT_BYTES_MAX);
    expect(failures).toEqual([]);
  });
});
