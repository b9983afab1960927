import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';

// The real start program under an umask that closes nothing: whatever a part writes, only its owner can read it.

const RUNNING = /footfall is running at (http:\/\/\S+)/;
const OTHERS = 0o077;
const EVENTS = 300;

let folder = '';
let dataDir = '';
let launcher: Launcher | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-private-'));
  chmodSync(folder, 0o755);
  dataDir = join(folder, 'data');
});

afterEach(async () => {
  launcher?.signal('SIGTERM');
  await launcher?.exited;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the service as a user does whose shell has the umask 000. */
async function startOpenHanded(): Promise<string> {
  const node = join(folder, 'node');
  writeFileSync(node, `#!/bin/sh\numask 000\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 });
  const settings = { NATS_URL: undefined, CLICKHOUSE_URL: undefined, FLUSH_INTERVAL_MS: '100' };
  launcher = startLauncher(dataDir, settings, node);
  const [, url = ''] = await launcher.waitFor(RUNNING);
  await launcher.waitFor(/Press Ctrl-C to stop/);
  return url;
}

async function stop(): Promise<void> {
  launcher?.signal('SIGINT');
  expect(await launcher?.exited).toBe(0);
}

/** Sends events and waits until the store has them: bus, checkpoints, spool and store have then been written. */
async function makeTraffic(url: string): Promise<void> {
  const { projectId, clients } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
  const headersOf = ({ id, secret }: { id: string; secret: string }) => ({
    'content-type': 'application/json',
    'service-client-id': id,
    'service-client-secret': secret,
  });
  const body = Array.from({ length: EVENTS }, (_, index) => ({
    type: 'track',
    payload: { name: 'signup', properties: { __deviceId: `device-${index}`, plan: 'pro' } },
  }));
  const sent = await fetch(`${url}/track/batch`, {
    method: 'POST',
    headers: headersOf(clients.write),
    body: JSON.stringify(body),
  });
  expect(await sent.json()).toEqual({ accepted: EVENTS, rejected: [] });
  const counted = async () => {
    const path = `/export/events?projectId=${projectId}&event=signup&limit=1`;
    const answer = await fetch(url + path, { headers: headersOf(clients.read) });
    return answer.ok ? ((await answer.json()) as { meta: { totalCount: number } }).meta.totalCount : 0;
  };
  await expect.poll(counted, { timeout: 60_000, interval: 200 }).toBe(EVENTS);
}

/** The mode of everything in the data folder, itself included, by its path. Links have none. */
function modes(path = '.', found = new Map<string, number>()): Map<string, number> {
  const facts = lstatSync(join(dataDir, path), { throwIfNoEntry: false });
  if (facts === undefined || facts.isSymbolicLink()) return found;
  found.set(path, facts.mode);
  if (facts.isDirectory()) for (const name of namesIn(path)) modes(join(path, name), found);
  return found;
}

/** Returns no names for a folder that the running store has just moved. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(join(dataDir, path));
  } catch {
    return [];
  }
}

/** Paths that group or others have any right to, as `path mode`. */
function open(): string[] {
  return [...modes()]
    .filter(([, mode]) => (mode & OTHERS) !== 0)
    .map(([path, mode]) => `${path} ${(mode & 0o777).toString(8)}`);
}

test('after a start with traffic, everything in the data folder is for its owner alone', async () => {
  const url = await startOpenHanded();
  await makeTraffic(url);
  expect(open()).toEqual([]);
  const paths = [...modes().keys()];
  for (const part of ['bus', 'store', 'logs', 'credentials.json', 'secrets.json', 'run.json', 'lock'])
    expect(paths).toContain(part);
  expect(paths.filter((path) => path.startsWith('bus/')).length).toBeGreaterThan(20);
  expect(paths.filter((path) => path.startsWith('store/')).length).toBeGreaterThan(20);
  expect(launcher?.output()).not.toContain('open');
  await stop();
  expect(open()).toEqual([]);
});

test('a folder that is open to others is closed at the start, with one line', async () => {
  await makeTraffic(await startOpenHanded());
  await stop();
  for (const [path, mode] of modes()) chmodSync(join(dataDir, path), (mode & 0o777) | 0o055);
  expect(open()).toHaveLength(modes().size);

  await startOpenHanded();
  expect(open()).toEqual([]);
  const lines = (launcher?.output() ?? '').split('\n').filter((line) => line.includes('other users'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^ {2}data +closed \S+\/data to other users .*; \d{3,} of its files and folders were open$/,
  );
  await stop();
});
