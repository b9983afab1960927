import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeParts } from './body-writes.ts';
import { type ListenSocket, uws } from './library.ts';

// A reader that pauses, so that the buffers of the socket are full at any point of the body.

/** A part that the library collects, and a part that does not fit after it. */
const PARTS = [8_000, 17_000];
const TIMES = 800;
const CHUNKS_BETWEEN = 8;
const PAUSE_MS = 2;

let listening: ListenSocket;
let port: number;

beforeAll(async () => {
  const app = uws.App();
  app.get('/parts', (response) => {
    let isOver = false;
    response.onAborted(() => {
      isOver = true;
    });
    let times = 0;
    const goOn = () => {
      while (!isOver && times < TIMES) {
        const parts = partsAt(times);
        times += 1;
        if (!writeParts(response, parts)) return;
      }
      if (!isOver) response.cork(() => response.end());
      isOver = true;
    };
    response.onWritable(() => {
      setImmediate(goOn);
      return true;
    });
    setImmediate(goOn);
  });
  listening = await new Promise((resolve) =>
    app.listen('127.0.0.1', 0, (socket) => resolve(socket as ListenSocket)),
  );
  port = uws.us_socket_local_port(listening);
});
afterAll(() => uws.us_listen_socket_close(listening));

/** Bytes that say which write they belong to. */
function filled(bytes: number, index: number): Buffer {
  return Buffer.alloc(bytes, 1 + (index % 250));
}

function partsAt(time: number): Buffer[] {
  return PARTS.map((bytes, part) => filled(bytes, 2 * time + part));
}

test('a body in parts arrives completely', async () => {
  const outgoing = get({ host: '127.0.0.1', port, path: '/parts' });
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (chunks.length % CHUNKS_BETWEEN === 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const sent = Array.from({ length: TIMES }, (_, time) => partsAt(time)).flat();
  expect(Buffer.concat(chunks).equals(Buffer.concat(sent))).toBe(true);
}, 60_000);
