import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpServer } from './http.ts';
import { BODY_TIME_MAX_MS, OpenBodies } from './open-bodies.ts';

// A server whose clients prove themselves by a header. Its answers wait until the test releases them.

const MIB = 1_048_576;
let server: HttpServer | undefined;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.length = 0;
  server?.close();
});

interface BegunServer {
  readonly port: number;
  readonly bodies: OpenBodies;
  readonly received: Buffer[];
  readonly answerAll: () => void;
}

async function begin(options: ConstructorParameters<typeof OpenBodies>[0] = {}): Promise<BegunServer> {
  const bodies = new OpenBodies(options);
  const received: Buffer[] = [];
  const answers: (() => void)[] = [];
  server = new HttpServer((error) => {
    throw error;
  }, bodies);
  server.route({
    method: 'post',
    pattern: '/bodies',
    bodyMaxBytes: 4 * MIB,
    cors: undefined,
    readHead: (head) => head.header('client'),
    admit: (client, reply) => {
      if (client === 'wrong') reply.json(401, '"wrong"');
      if (client === 'wrong') return 'answered';
      const admission = client === '' ? 'stranger' : 'proven';
      return client === 'slow' ? new Promise((resolve) => answers.push(() => resolve('proven'))) : admission;
    },
    ownerOf: (client) => client,
    answer: (_client, body, reply) => {
      received.push(Buffer.from(body));
      answers.push(() => reply.json(200, '"done"'));
    },
  });
  const port = await server.listen('127.0.0.1', 0);
  const answerAll = () => {
    for (const answer of answers.splice(0)) answer();
  };
  return { port, bodies, received, answerAll };
}

function send(
  port: number,
  { client = '', bytes, body }: { client?: string; bytes: number; body: string },
): Socket {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.write(
    `POST /bodies HTTP/1.1\r\nhost: x\r\nclient: ${client}\r\ncontent-length: ${bytes}\r\n\r\n${body}`,
  );
  return socket;
}

async function answerOf(socket: Socket): Promise<string> {
  const [part] = (await once(socket, 'data')) as [Buffer];
  return part.toString('latin1');
}

test('hundreds of large bodies without credentials take the memory of strangers, and give it back', async () => {
  const { port, bodies } = await begin({ maxBytes: { proven: 8 * MIB, stranger: 2 * MIB } });
  for (let count = 0; count < 60; count += 1) send(port, { bytes: 4 * MIB, body: 'x'.repeat(100_000) });
  await expect.poll(() => bodies.bytesOf('stranger')).toBeGreaterThan(1.5 * MIB);
  let most = 0;
  const isOver = () => {
    most = Math.max(most, bodies.bytesOf('stranger'));
    return server?.inFlight ?? 0;
  };
  // Bodies without room have been answered.
  await expect.poll(isOver).toBeLessThan(20);
  expect(most).toBeLessThanOrEqual(2 * MIB);
  const client = send(port, { client: 'a', bytes: 3, body: 'abc' });
  await expect.poll(() => bodies.bytesOf('proven')).toBeGreaterThan(0);
  client.destroy();
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => [bodies.bytesOf('stranger'), bodies.bytesOf('proven')]).toEqual([0, 0]);
});

test('a body without room is 503 with a time to come back', async () => {
  const { port, bodies } = await begin({ maxBytes: { proven: MIB, stranger: 100_000 } });
  const answer = await answerOf(send(port, { bytes: MIB, body: 'x'.repeat(200_000) }));
  expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\n/);
  expect(answer.toLowerCase()).toContain('\r\nretry-after: 5\r\n');
  expect(bodies.bytesOf('stranger')).toBe(0);
});

test('a body arrives whole, however many packets it has', async () => {
  const { port, bodies, received, answerAll } = await begin();
  const text = Array.from({ length: 40_000 }, (_, index) => index).join();
  const socket = send(port, { client: 'a', bytes: text.length, body: text.slice(0, 7) });
  for (let at = 7; at < text.length; at += 3_001) {
    await expect.poll(() => bodies.bytesOf('proven')).toBeGreaterThan(0);
    socket.write(text.slice(at, at + 3_001));
  }
  await expect.poll(() => received.length).toBe(1);
  expect(received[0]?.toString()).toBe(text);
  // Its bytes count until it is answered.
  expect(bodies.bytesOf('proven')).toBeGreaterThanOrEqual(text.length);
  answerAll();
  expect(await answerOf(socket)).toContain('200 OK');
  expect(bodies.bytesOf('proven')).toBe(0);
});

test('a body that is complete before its sender is proven waits for that', async () => {
  const { port, bodies, received, answerAll } = await begin();
  const socket = send(port, { client: 'slow', bytes: 3, body: 'abc' });
  await expect.poll(() => bodies.bytesOf('stranger')).toBeGreaterThan(0);
  expect(received).toHaveLength(0);
  answerAll();
  await expect.poll(() => received.length).toBe(1);
  expect(bodies.bytesOf('stranger')).toBe(0);
  answerAll();
  expect(await answerOf(socket)).toContain('200 OK');
});

test('a head that is answered drops its body, and the connection serves the next request', async () => {
  const { port, bodies, received, answerAll } = await begin();
  const socket = send(port, { client: 'wrong', bytes: MIB, body: 'x'.repeat(1_000) });
  expect(await answerOf(socket)).toContain('401');
  socket.write('x'.repeat(MIB - 1_000));
  socket.write('POST /bodies HTTP/1.1\r\nhost: x\r\nclient: a\r\ncontent-length: 2\r\n\r\nok');
  await expect.poll(() => received.map(String)).toEqual(['ok']);
  answerAll();
  expect(await answerOf(socket)).toContain('200 OK');
  expect(bodies.bytesOf('stranger') + bodies.bytesOf('proven')).toBe(0);
});

test('a body that drips is 408, and its connection ends', async () => {
  let nowMs = 0;
  const { port, bodies } = await begin({ nowMs: () => nowMs });
  const socket = send(port, { bytes: 100, body: 'x' });
  await expect.poll(() => bodies.bytesOf('stranger')).toBeGreaterThan(0);
  nowMs = BODY_TIME_MAX_MS;
  bodies.sweep();
  const closed = once(socket, 'close');
  expect(await answerOf(socket)).toContain('408 Request Timeout');
  await closed;
  expect(bodies.bytesOf('stranger')).toBe(0);
});
