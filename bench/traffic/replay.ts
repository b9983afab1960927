import { accessSync, constants } from 'node:fs';
import { readConfig } from '../../infra/config.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { numberOption, type Options, readOptions, targetOf, UsageError } from '../cluster/options.ts';
import { emptyTotals, type ReplayTotals, replayLog } from './log-replay.ts';
import { requireService, startedCredentials } from './running-service.ts';

const USAGE = `npm run replay -- FILE [options]
  FILE               a web-server log in common or combined format, plain or .gz
  --url URL          the service; default: the one that the data folder's credentials name
  --site ID          the site; another than the credentials' needs --client
  --client ID:SECRET a write client of the site
  --origin URL       scheme and host of the log's pages; default http://localhost
  --speed N          N times as fast as it happened; default: as fast as it is taken
  --without-robots   leaves out the page views of robots and other programs, as the
                     service itself does with live traffic; default: they count
`;
const CONNECTIONS = 48;
const PROGRESS_MS = 250;

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    values: ['--url', '--site', '--client', '--origin', '--speed'],
    flags: ['--help', '--without-robots'],
  });
  if (options.flags.has('--help')) return void process.stdout.write(USAGE);
  const [file] = options.rest;
  if (file === undefined || options.rest.length > 1) throw new UsageError(USAGE);
  checkReadable(file);
  const credentials = startedCredentials(readConfig().DATA_DIR);
  const { url, site } = targetOf(options, credentials);
  const credential = credentialOf(options, site, credentials);
  const origin = (options.values.get('--origin') ?? 'http://localhost').replace(/\/+$/, '');
  if (!URL.canParse(origin)) throw new UsageError(`--origin: not an address: ${origin}`);
  const speed = numberOption(options, '--speed', undefined);
  const withoutRobots = options.flags.has('--without-robots');
  await requireService(url);
  const client = new Client(CONNECTIONS);
  const totals = emptyTotals();
  const startedMs = performance.now();
  const progress = showProgress(totals, startedMs);
  try {
    await replayLog(client, { file, url, site, credential, origin, speed, withoutRobots }, totals);
  } finally {
    progress();
    client.close();
    process.stdout.write(summaryOf(totals, withoutRobots, (performance.now() - startedMs) / 1_000));
  }
}

function checkReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
}

function credentialOf(
  options: Options,
  site: string,
  known: { projectId: string; clients: { write: Credential } },
): Credential {
  const given = options.values.get('--client');
  if (given !== undefined) {
    const colon = given.indexOf(':');
    if (colon < 1) throw new UsageError('--client: expected ID:SECRET');
    return { id: given.slice(0, colon), secret: given.slice(colon + 1) };
  }
  if (site !== known.projectId)
    throw new UsageError(`--site ${site} needs --client: the known one is for ${known.projectId}`);
  return known.clients.write;
}

/** Rewrites one line while the replay runs, on a terminal only; returns a function that ends it. */
function showProgress(totals: ReplayTotals, startedMs: number): () => void {
  if (!process.stdout.isTTY) return () => {};
  const show = () => {
    const seconds = (performance.now() - startedMs) / 1_000;
    const done = totals.accepted + sum(totals.rejected);
    const rate = Math.round(done / Math.max(seconds, 0.001));
    process.stdout.write(
      `\r${totals.lines} lines, ${done} of ${totals.pageViews} page views sent, ${rate}/s   `,
    );
  };
  const timer = setInterval(show, PROGRESS_MS);
  return () => {
    clearInterval(timer);
    show();
    process.stdout.write('\n');
  };
}

function summaryOf(totals: ReplayTotals, withoutRobots: boolean, seconds: number): string {
  const rejected = sum(totals.rejected);
  const rows: (readonly [string, string])[] = [
    ['lines', String(totals.lines)],
    ['unreadable', String(totals.unreadable)],
    ...(withoutRobots ? [['of robots', String(totals.ofRobots)] as const] : []),
    ['page views', String(totals.pageViews)],
    ['accepted', String(totals.accepted)],
    ['rejected', String(rejected)],
    ...[...totals.rejected].map(([reason, count]): readonly [string, string] => [
      `  ${reason}`,
      String(count),
    ]),
    ['tried again', String(totals.retries)],
    ['seconds', seconds.toFixed(1)],
    ['page views a second', String(Math.round((totals.accepted + rejected) / Math.max(seconds, 0.001)))],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
