import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { dayOf, Questions, shownRatio } from '../cluster/answers.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { isSynthetic, storedCounts, storedEvents } from '../cluster/stored.ts';
import { type LogTotals, logTotals } from './log-reference.ts';

const SAMPLE = join(projectRoot, '../shared/data/access-log-sample.log');
const run = promisify(execFile);
let cluster: Cluster;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-log-'));
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '200' },
  });
  await cluster.ready('web');
});

afterEach(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the built program; returns its summary as numbers by name. */
async function replay(file: string, ...options: readonly string[]): Promise<Record<string, number>> {
  const program = join(projectRoot, 'dist/bench/traffic/replay.js');
  const { stdout } = await run(process.execPath, [program, file, '--url', cluster.url('web'), ...options], {
    env: { ...process.env, DATA_DIR: cluster.folder },
  });
  const rows = stdout.split('\n').map((line) => /^(.*?) {2,}(\S+)$/.exec(line));
  return Object.fromEntries(rows.flatMap((row) => (row === null ? [] : [[row[1] ?? '', Number(row[2])]])));
}

/** The service's figures once everything is in the store, which must equal the log's own. */
async function countsOf(totals: LogTotals) {
  const { projectId, clients } = cluster.credentials;
  const client = new Client(1);
  const store = cluster.openStore();
  try {
    const questions = new Questions(client, cluster.url('web'), projectId, clients.read);
    const metrics = await questions.metrics(dayOf(totals.firstMs), dayOf(totals.lastMs));
    await waitFor(
      'all is in the store',
      async () => (await storedCounts(store, projectId)).inSessions >= totals.screenViews,
      30_000,
    );
    const views = (await storedEvents(store, projectId)).filter((event) => !isSynthetic(event));
    const pages = new Map<string, number>();
    for (const { path } of views) pages.set(path, (pages.get(path) ?? 0) + 1);
    return {
      screenViews: metrics.total_screen_views,
      stored: views.length,
      visitors: metrics.unique_visitors,
      sessions: metrics.total_sessions,
      bounceRate: metrics.bounce_rate,
      durationS: metrics.avg_session_duration,
      pages: [...pages].sort(([a, count], [b, other]) => other - count || (a < b ? -1 : 1)).slice(0, 20),
    };
  } finally {
    client.close();
    await store.close();
  }
}

function expected(totals: LogTotals) {
  return {
    screenViews: totals.screenViews,
    stored: totals.screenViews,
    visitors: totals.visitors,
    sessions: totals.sessions,
    bounceRate: shownRatio(totals.bounces * 100, totals.sessions),
    durationS: shownRatio(totals.durationMs / 1_000, totals.sessions),
    pages: totals.pages.slice(0, 20),
  };
}

async function replayedTwiceEqualsReference(file: string, totals: LogTotals): Promise<void> {
  for (const _time of ['first', 'second']) {
    const summary = await replay(file);
    expect(summary).toMatchObject({
      lines: totals.lines,
      unreadable: totals.unreadable,
      'page views': totals.screenViews,
      accepted: totals.screenViews,
      rejected: 0,
    });
    expect(await countsOf(totals)).toEqual(expected(totals));
  }
}

test('a replayed log gives the totals that the log itself has, and a second time changes nothing', async () => {
  const lines = generatedLog();
  const file = join(folder, 'access.log.gz');
  writeFileSync(file, gzipSync(Buffer.from(`${lines.join('\n')}\n`, 'latin1')));
  const totals = logTotals(lines);
  expect(totals.unreadable).toBe(2);
  await replayedTwiceEqualsReference(file, totals);
});

test('without robots, a replayed log gives the totals of the other lines', async () => {
  const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
  const lines = generatedLog().map((line, index) =>
    index % 7 === 0 ? line.replace(/"Mozilla[^"]*"$/, `"${googlebot}"`) : line,
  );
  const file = join(folder, 'access.log');
  writeFileSync(file, `${lines.join('\n')}\n`, 'latin1');
  // An agent that is neither a browser's nor empty is a robot's.
  const isRobots = (line: string) => !/"(Mozilla\/5\.0 \(X11;[^"]*|-)"$/.test(line);
  const [all, people] = [logTotals(lines), logTotals(lines.filter((line) => !isRobots(line)))];
  expect(lines.some((line) => line.includes('Googlebot'))).toBe(true);
  expect(people.screenViews).toBeGreaterThan(0);
  expect(await replay(file, '--without-robots')).toMatchObject({
    lines: all.lines,
    unreadable: 2,
    'of robots': all.screenViews - people.screenViews,
    'page views': people.screenViews,
    accepted: people.screenViews,
  });
  expect(await countsOf(people)).toEqual(expected(people));
});

test.skipIf(!existsSync(SAMPLE))(
  'the sample of a real log gives the totals that the log itself has, twice (needs ../shared/data)',
  async () => {
    const lines = readFileSync(SAMPLE, 'latin1').split('\n').filter(Boolean);
    await replayedTwiceEqualsReference(SAMPLE, logTotals(lines));
  },
);

/** A few hours of a small site: returning visitors, odd user agents, assets, broken and repeated lines. */
function generatedLog(): string[] {
  const random = new SeededRandom(11);
  const agents = [
    'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/126.0',
    '-',
    'curl/8.5',
    'bad \\"agent\\" \\xe9',
  ];
  const paths = ['/', '/a', '/a?b=c', '/gr\\xc3\\xb6\\xc3\\x9fe', '/style.css', '/b.html', '/c/'];
  const lines = ['not a log line', '10.0.0.1 - - [99/Xxx/2024] "GET / HTTP/1.1" 200 1'];
  let atMs = Date.UTC(2024, 4, 30, 22, 30);
  while (lines.length < 400) {
    atMs += random.integer(0, 90) * 1_000;
    const visitor = random.integer(1, 25);
    const address = visitor % 5 === 0 ? `2001:db8::${visitor}` : `81.2.3.${visitor}`;
    const agent = agents[visitor % agents.length];
    const path = paths[random.integer(0, paths.length - 1)];
    const line = `${address} - - [${logDate(atMs)}] "GET ${path} HTTP/1.1" ${random.chance(0.9) ? 200 : 404} 12 "-" "${agent}"`;
    lines.push(line);
    if (random.chance(0.05)) lines.push(line);
  }
  return lines;
}

function logDate(ms: number): string {
  const [, day, month, year, time] =
    /^\w+, (\d+) (\w+) (\d+) (\S+) GMT$/.exec(new Date(ms).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
