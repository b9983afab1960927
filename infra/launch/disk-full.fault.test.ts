import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';
import { isAlive } from './process-identity.mjs';
import { endLeftovers } from './run-record.ts';

// The real start program on a file system of its own, which another program fills to its last byte.

const SIZE = '192m';
const MIN_BYTES = 32 * 1024 * 1024;
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';
const PARTS = ['bus', 'store', 'processor', 'http'];
const SENDERS = 3;
const WAIT_MAX_MS = 120_000;
/** Far beyond every limit of the service: a request that takes longer hangs. */
const ANSWER_MAX_MS = 60_000;

interface StoredCredentials {
  readonly projectId: string;
  readonly clients: Record<'read' | 'write', { readonly id: string; readonly secret: string }>;
}

let folder = '';
let dataDir = '';
let launcher: Launcher | undefined;
let isMounted = false;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-disk-'));
  dataDir = join(folder, 'data');
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder], {
    encoding: 'utf8',
  });
  isMounted = mount.status === 0;
});

afterEach(async () => {
  launcher?.signal('SIGTERM');
  await launcher?.exited;
  launcher = undefined;
  // If the launcher died, its bus is left.
  await endLeftovers(dataDir);
  if (isMounted) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
});

test('with a full disk everything goes on, says why, and recovers with every acknowledged event once', async ({
  skip,
}) => {
  if (!isMounted && process.env.CI === undefined) skip('only root can mount the small disk of this test');
  expect(isMounted).toBe(true);
  const started = startLauncher(dataDir, { DISK_FREE_MIN_BYTES: String(MIN_BYTES) });
  launcher = started;
  const [, url = ''] = await started.waitFor(/footfall is running at (http:\/\/\S+)/);
  await started.waitFor(/Press Ctrl-C to stop/);
  const traffic = new Sending(url, readCredentials());
  await until(() => traffic.acknowledged > 100, 'events before');
  expect(await readinessOf(url)).toMatchObject({ status: 200, disk: { state: 'free', minBytes: MIN_BYTES } });

  // The readiness turns before anything fails.
  const hog = new Hog(join(folder, 'hog'));
  hog.fillTo(MIN_BYTES / 2);
  await until(async () => (await readinessOf(url)).disk.state === 'low', 'a low disk');
  const low = await readinessOf(url);
  expect(low.status).toBe(503);
  expect(low.disk.freeBytes).toBeLessThan(MIN_BYTES);
  const whileLow = traffic.acknowledged;
  await until(() => traffic.acknowledged > whileLow + 20, 'events with a low disk');

  const refill = setInterval(() => hog.fillTo(0), 20);
  try {
    hog.fillTo(0);
    await until(async () => (await readinessOf(url)).disk.state === 'full', 'a full disk');
    const { rejected } = traffic;
    await until(() => traffic.rejected > rejected + 50, 'rejected events');
    expect(await readinessOf(url)).toMatchObject({ status: 503, disk: { freeBytes: 0 } });
    // Parts that exit are started again, although the store cannot start on a full disk.
    for (const part of ['bus', 'store']) process.kill(started.pidOf(part), 'SIGKILL');
    await started.waitFor(/bus +was killed by SIGKILL, restarting/);
    await started.waitFor(/store +exited with code 1, restarting in/);
    const then = traffic.rejected;
    await until(() => traffic.rejected > then + 50, 'rejected events');
    expect(isAlive(started.pid)).toBe(true);
  } finally {
    clearInterval(refill);
    hog.remove();
  }

  await until(async () => (await readinessOf(url)).status === 200, 'readiness');
  await started.waitFor(/bus +restarting it, because its disk was full/);
  const before = traffic.acknowledged;
  await until(() => traffic.acknowledged > before + 100, 'events again');
  await traffic.stop();
  expect(traffic.odd).toEqual([]);
  await until(async () => (await traffic.counted()) === traffic.acknowledged, 'every event to be counted');
  for (const part of PARTS) expect([part, isAlive(started.pidOf(part))]).toEqual([part, true]);
  started.signal('SIGINT');
  expect(await started.exited).toBe(0);
  const log = readFileSync(join(dataDir, 'logs/bus.log'), 'utf8');
  const missing = log.indexOf('lines could not be written here');
  expect(missing).toBeGreaterThan(0);
  expect(log.lastIndexOf('Server is ready')).toBeGreaterThan(missing);
});

/** A file that takes all space of its file system but some. */
class Hog {
  readonly #path: string;
  readonly #file: number;
  readonly #zeros = Buffer.alloc(1_048_576);

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, 'w');
  }

  /** Grows until only `freeBytes` are free. */
  fillTo(freeBytes: number): void {
    for (const size of [this.#zeros.length, 4_096]) {
      while (this.#freeBytes() >= freeBytes + size) if (!this.#grow(size)) break;
    }
  }

  remove(): void {
    closeSync(this.#file);
    unlinkSync(this.#path);
  }

  #grow(size: number): boolean {
    try {
      return writeSync(this.#file, this.#zeros, 0, size) === size;
    } catch {
      return false; // Another program took the space.
    }
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(join(this.#path, '..'));
    return bavail * bsize;
  }
}

/** Sends page views, each with its own event id, one after the other on several connections. */
class Sending {
  acknowledged = 0;
  rejected = 0;
  /** Answers other than 200, and 503 with a time to wait. */
  readonly odd: string[] = [];
  readonly #url: string;
  readonly #credentials: StoredCredentials;
  readonly #senders: readonly Promise<void>[];
  #isOver = false;

  constructor(url: string, credentials: StoredCredentials) {
    this.#url = url;
    this.#credentials = credentials;
    this.#senders = Array.from({ length: SENDERS }, (_, sender) => this.#run(sender));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#senders);
  }

  /** The number of page views that the service counts. */
  async counted(): Promise<number> {
    const { projectId, clients } = this.#credentials;
    const response = await fetch(
      `${this.#url}/export/events?projectId=${projectId}&event=screen_view&limit=1`,
      {
        headers: headersOf(clients.read),
      },
    );
    return ((await response.json()) as { meta: { totalCount: number } }).meta.totalCount;
  }

  async #run(sender: number): Promise<void> {
    for (let number = 0; !this.#isOver; number += 1) {
      await this.#send(`${sender}-${number}`).catch((error: unknown) => this.odd.push(String(error)));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #send(eventId: string): Promise<void> {
    const payload = { name: 'screen_view', eventId, properties: { __path: 'https://example.com/a' } };
    const response = await fetch(`${this.#url}/track`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': BROWSER,
        ...headersOf(this.#credentials.clients.write),
      },
      body: JSON.stringify({ type: 'track', payload }),
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
    const text = await response.text();
    if (response.status === 200) this.acknowledged += 1;
    else if (response.status === 503 && response.headers.get('retry-after') !== null) this.rejected += 1;
    else this.odd.push(`${response.status} ${text}`);
  }
}

function readCredentials(): StoredCredentials {
  return JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
}

interface ShownReadiness {
  readonly status: number;
  readonly disk: { readonly state: string; readonly freeBytes: number; readonly minBytes: number };
}

async function readinessOf(url: string): Promise<ShownReadiness> {
  const response = await fetch(`${url}/healthz/ready`);
  const { disk } = (await response.json()) as ShownReadiness;
  return { status: response.status, disk };
}

function headersOf(client: { readonly id: string; readonly secret: string }): Record<string, string> {
  return { 'service-client-id': client.id, 'service-client-secret': client.secret };
}

/** Waits until `check` holds; a request that fails because a part is down is a reason to wait. */
async function until(check: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadlineMs = Date.now() + WAIT_MAX_MS;
  while (!(await (async () => check())().catch(() => false))) {
    if (Date.now() > deadlineMs) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
