import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { waitFor } from '../../cluster/child-process.ts';
import { generateLoad } from './generator.ts';
import { readPool, writePool } from './request-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'footfall-load-'));
const credential = { id: 'client', secret: 'secret' };
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function poolOf(number: number, visitors: number): string {
  return writePool({ path: join(folder, `${number}`), seed: 7, visitors, number, credential }).path;
}

/** Starts a server that hands every body, with a function to answer it, to `take`; resolves with its URL. */
async function serve(take: (body: string, answer: (status: number) => void) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      take(body, (status) => {
        const text = JSON.stringify({ status });
        response.writeHead(status, { 'content-length': text.length }).end(text);
      });
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/track`;
}

test('a pool has as many requests of each visitor, and no visitor of another pool', () => {
  const addressesOf = (path: string) =>
    readPool(path).map((request) => /service-client-ip: (\S+)/.exec(request.toString())?.[1] ?? '');
  const [first, second] = [addressesOf(poolOf(1, 300)), addressesOf(poolOf(2, 300))];
  const counts = new Map<string, number>();
  for (const address of first) counts.set(address, (counts.get(address) ?? 0) + 1);
  expect(counts.size).toBe(300);
  expect(new Set(counts.values())).toEqual(new Set([8]));
  expect(second.filter((address) => first.includes(address))).toEqual([]);
});

test('each request of a pool is one whole page view', () => {
  for (const request of readPool(poolOf(3, 50))) {
    const [head = '', body = ''] = request.toString('latin1').split('\r\n\r\n');
    expect(Number(/content-length: (\d+)/.exec(head)?.[1])).toBe(body.length);
    const { type, payload } = JSON.parse(request.subarray(request.length - body.length).toString('utf8'));
    expect([type, payload.name]).toEqual(['track', 'screen_view']);
  }
});

test('at a rate, every request is sent once, and its time runs from its intended start', async () => {
  const held: ((status: number) => void)[] = [];
  let isHolding = true;
  const url = await serve((_body, answer) => {
    if (isHolding) held.push(answer);
    else answer(200);
  });
  const load = { url, pool: poolOf(4, 50), connections: 2, seconds: 0.2, seed: 1, ratePerSec: 500 };
  const running = generateLoad(load);
  await waitFor('the first requests', () => held.length === 2, 20_000);
  await new Promise((resolve) => setTimeout(resolve, 400));
  // Two are in flight; the other 98 should have started long ago.
  expect(held).toHaveLength(2);
  isHolding = false;
  for (const answer of held) answer(200);
  const { accepted, failed, p50Ms } = await running;
  expect({ accepted, failed }).toEqual({ accepted: 100, failed: 0 });
  // The last one was due 200 ms after the first.
  expect(p50Ms).toBeGreaterThan(100);
});

test('in a closed loop, errors count as failed', async () => {
  let answers = 0;
  const url = await serve((_body, answer) => {
    answers += 1;
    answer(answers % 2 === 0 ? 200 : 503);
  });
  const { accepted, failed } = await generateLoad({
    url,
    pool: poolOf(5, 50),
    connections: 1,
    seconds: 0.2,
    seed: 1,
  });
  expect(failed).toBeGreaterThan(0);
  expect(Math.abs(accepted - failed)).toBeLessThanOrEqual(1);
});

test('a load ends with its connections when the server never answers', async () => {
  let received = 0;
  const url = await serve(() => {
    received += 1;
  });
  const load = { url, pool: poolOf(6, 50), connections: 2, seconds: 0.1, seed: 1, ratePerSec: 100 };
  const { accepted, failed } = await generateLoad({ ...load, lastAnswersMaxMs: 200 });
  expect({ accepted, failed, received }).toEqual({ accepted: 0, failed: 10, received: 2 });
  const open = () =>
    new Promise<number>((resolve) => servers.at(-1)?.getConnections((_error, count) => resolve(count)));
  await expect.poll(open).toBe(0);
});
