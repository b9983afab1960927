import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SocketWait } from './socket-wait.ts';

const WORK_MS = 4;
const SENDERS = 50;
/** The signal leaves with one of the first requests. */
const LONG_MS = (SENDERS * WORK_MS) / 2;

let wait: SocketWait;
let senders: readonly Socket[];
/** The waits that requests measured when they were read, in that order. */
let waitsMs: number[] = [];
const server = createServer((socket) => {
  socket.on('data', () => {
    waitsMs.push(wait.waitMs());
    const endMs = performance.now() + WORK_MS;
    while (performance.now() < endMs);
  });
});

beforeAll(async () => {
  wait = new SocketWait();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  senders = await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    }),
  );
  await sendAll();
});
afterAll(() => {
  for (const socket of senders) socket.destroy();
  server.close();
  wait.stop();
});

/** All senders send together; resolves with the waits that they measured. */
async function sendAll(): Promise<readonly number[]> {
  waitsMs = [];
  for (const socket of senders) socket.write('x');
  while (waitsMs.length < SENDERS) await new Promise((resolve) => setTimeout(resolve, 1));
  return waitsMs;
}

test('grows with the work that is done before a request is read', async () => {
  const first = await sendAll();
  expect(Math.max(...first)).toBeGreaterThanOrEqual(LONG_MS);
});

test('is that of the last signal while the next one is on its way, and 0 after half a second without requests', async () => {
  const begun = await sendAll();
  // The signal of the previous burst came back behind that burst, so this one began with the wait of that signal.
  expect(begun[0]).toBeGreaterThanOrEqual(LONG_MS);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(wait.waitMs()).toBe(0);
});

/** The maximum number of reads in one turn of the event loop while far more than a thousand sockets are always readable. */
async function longestTurn(onRead: () => void): Promise<number> {
  const PAIRS = 1_500;
  const READS = 150_000;
  let [reads, inTurn, longest, isCounting] = [0, 0, 0, false];
  const read = (socket: Socket) => {
    onRead();
    reads += 1;
    inTurn += 1;
    if (!isCounting) setImmediate(endTurn);
    isCounting = true;
    if (reads < READS) socket.write('x');
  };
  const endTurn = () => {
    longest = Math.max(longest, inTurn);
    inTurn = 0;
    isCounting = false;
  };
  const echo = createServer((socket) => {
    socket.on('data', () => read(socket));
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const { port } = echo.address() as AddressInfo;
  const sockets: Socket[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    sockets.push(socket);
  }
  for (const socket of sockets) {
    socket.on('data', () => read(socket));
    socket.write('x');
  }
  while (reads < READS) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const socket of sockets) socket.destroy();
  echo.close();
  return longest;
}

test('no turn is much longer than what waited when it began, however many sockets stay readable', async () => {
  const alone = await longestTurn(() => {});
  expect(alone).toBeGreaterThan(30_000);
  expect(await longestTurn(() => wait.waitMs())).toBeLessThan(alone / 2);
});
