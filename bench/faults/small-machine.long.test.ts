import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { type Launcher, startLauncher } from '../../infra/testing/launcher.ts';
import { allocatedBytes, limitMemory, type MemoryLimit } from '../../infra/testing/memory-limit.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { dayOf, Questions } from '../cluster/answers.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { readCredentials } from '../cluster/cluster.ts';
import { logTotals } from '../traffic/log-reference.ts';

// `SMALL=1` as `npm start` runs it, with a log of many visitors, under the limit that it promises where this machine lets the
// test set one.

const MEGABYTE = 1024 ** 2;
const LIMIT_BYTES = 512 * MEGABYTE;
/** The rest of the limit is for the code of the programs and files, which the kernel reads again as needed. */
const ALLOCATED_MAX_BYTES = 416 * MEGABYTE;
const LINES = 4_000;
const VISITORS = 3_000;
const SAMPLE_EVERY_MS = 200;

const run = promisify(execFile);
let folder = '';
let launcher: Launcher | undefined;
let limit: MemoryLimit | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-small-'));
});

afterEach(async () => {
  launcher?.signal('SIGTERM');
  await launcher?.exited;
  limit?.remove();
  rmSync(folder, { recursive: true, force: true });
});

test('SMALL=1 stores a replayed log and answers questions in 512 MB', async () => {
  const dataDir = join(folder, 'data');
  limit = limitMemory(LIMIT_BYTES);
  const env = { SMALL: '1', COLLECTORS: undefined, NATS_URL: undefined, CLICKHOUSE_URL: undefined };
  launcher = startLauncher(dataDir, env, limit === undefined ? process.execPath : limitedNode(limit));
  const [, url = ''] = await launcher.waitFor(/footfall is running at (http:\/\/\S+)/);
  const { pid } = launcher;
  let allocatedMaxBytes = 0;
  const sampling = setInterval(() => {
    const { parts } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8'));
    const pids = [pid, ...Object.values<number>(parts)];
    allocatedMaxBytes = Math.max(
      allocatedMaxBytes,
      pids.reduce((sum, one) => sum + allocatedBytes(one), 0),
    );
  }, SAMPLE_EVERY_MS);

  const lines = madeLog();
  const file = join(folder, 'access.log');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const totals = logTotals(lines);
  const program = join(projectRoot, 'dist/bench/traffic/replay.js');
  const { stdout } = await run(process.execPath, [program, file, '--url', url], {
    env: { ...process.env, DATA_DIR: dataDir },
  });
  expect(stdout).toMatch(new RegExp(`^accepted +${LINES}$`, 'm'));
  expect(stdout).toMatch(/^rejected +0$/m);

  const { projectId, clients } = readCredentials(dataDir);
  const client = new Client(2);
  const questions = new Questions(client, url, projectId, clients.read);
  const counted = () => questions.metrics(dayOf(totals.firstMs), dayOf(totals.lastMs));
  await waitFor(
    'every event counts',
    async () => (await counted()).total_screen_views === totals.screenViews,
    60_000,
  );
  expect(await counted()).toMatchObject({
    unique_visitors: totals.visitors,
    total_sessions: totals.sessions,
  });
  client.close();
  clearInterval(sampling);

  // No part was restarted, as one that the kernel or its heap's limit had ended would have been.
  expect(launcher.output()).not.toMatch(/restarting/);
  expect(allocatedMaxBytes).toBeGreaterThan(0);
  expect(allocatedMaxBytes).toBeLessThanOrEqual(ALLOCATED_MAX_BYTES);
  if (limit === undefined) process.stdout.write('memory is not limited here: only its size was checked\n');
  else expect(limit.peakBytes()).toBeLessThanOrEqual(LIMIT_BYTES);
  process.stdout.write(`allocated at most ${Math.round(allocatedMaxBytes / MEGABYTE)} MB\n`);
});

/** A program that joins the group and becomes node. */
function limitedNode({ membersFile }: MemoryLimit): string {
  const script = join(folder, 'node');
  writeFileSync(script, `#!/bin/sh\necho $$ > '${membersFile}' && exec '${process.execPath}' "$@"\n`);
  chmodSync(script, 0o700);
  return script;
}

/** A day of a site with more visitors than one of its caches holds pages of. */
function madeLog(): string[] {
  const random = new SeededRandom(5);
  const agent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
  const startMs = Date.UTC(2024, 4, 30);
  return Array.from({ length: LINES }, (_, index) => {
    const visitor = random.integer(1, VISITORS);
    const address = `${80 + (visitor % 100)}.${visitor % 250}.${visitor >> 8}.7`;
    const at = logDate(startMs + index * 5_000);
    return `${address} - - [${at}] "GET /page-${random.integer(1, 300)} HTTP/1.1" 200 12 "-" "${agent}"`;
  });
}

function logDate(ms: number): string {
  const [, day, month, year, time] =
    /^\w+, (\d+) (\w+) (\d+) (\S+) GMT$/.exec(new Date(ms).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
