import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../launch/ports.ts';
import { projectRoot } from '../root.ts';
import { alertsIn, dashboardQueries, type Selector, selectorsIn } from '../testing/alert-rules.ts';
import { findProgram } from '../testing/debian-program.ts';
import { type Launcher, startLauncher } from '../testing/launcher.ts';

// The files for operators beside the real service, and the programs that read them.

/** Labels that Prometheus adds by itself, and the one that the service adds where several processes share a port. */
const ADDED = ['instance', 'job', 'le', 'process'];

const run = promisify(execFile);
const analyzer = await findProgram({
  variable: 'SYSTEMD_ANALYZE',
  names: ['systemd-analyze'],
  packageName: 'systemd',
});

let folder = '';
let launcher: Launcher;
let port = '';
/** By metric, the values of each label. */
const exported = new Map<string, Map<string, Set<string>>>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-operations-'));
  const [metricsPort, storePort] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  launcher = startLauncher(join(folder, 'data'), {
    NATS_URL: undefined,
    CLICKHOUSE_URL: undefined,
    COLLECTORS: '2',
    METRICS_PORT: String(metricsPort),
    STORE_PORT: String(storePort),
  });
  const [, url = ''] = await launcher.waitFor(/footfall is running at (http:\/\/\S+)/);
  await launcher.waitFor(/Press Ctrl-C to stop/);
  port = new URL(url).port;
  // The ports of prometheus.yml.
  for (const target of [url, `http://127.0.0.1:${metricsPort}`, `http://127.0.0.1:${storePort}`])
    read(await (await fetch(`${target}/metrics`)).text());
});

afterAll(async () => {
  launcher?.signal('SIGINT');
  await launcher?.exited;
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string): string {
  return readFileSync(join(projectRoot, 'infra/operations', name), 'utf8');
}

function read(text: string): void {
  for (const [, metric = '', labels = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const known = exported.get(metric) ?? new Map<string, Set<string>>();
    exported.set(metric, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
      known.set(label, (known.get(label) ?? new Set()).add(value));
  }
}

/** The names in a selector that the service does not export. */
function unknownIn({ metric, matchers, grouping }: Selector): readonly string[] {
  // Prometheus makes this one.
  if (metric === 'up') return [];
  const labels = exported.get(metric);
  if (labels === undefined) return [metric];
  return [
    ...matchers.flatMap(([label, values]) =>
      values
        .filter((value) => labels.get(label)?.has(value) !== true)
        .map((value) => `${metric}{${label}="${value}"}`),
    ),
    ...grouping
      .filter((label) => !labels.has(label) && !ADDED.includes(label))
      .map((label) => `${metric} by (${label})`),
  ];
}

test('every metric, label and value of the alerts and the dashboard is one that the service exports', () => {
  const expressions = [
    ...alertsIn(fileOf('alerts.yaml')).map(({ name, expression }) => [name, expression] as const),
    ...dashboardQueries(fileOf('grafana-dashboard.json')).map(
      ({ title, expression }) => [title, expression] as const,
    ),
  ];
  const selectors = expressions.flatMap(([name, expression]) =>
    selectorsIn(expression).map((selector) => ({ name, selector })),
  );
  expect(selectors.length).toBeGreaterThan(70);
  expect(
    selectors.flatMap(({ name, selector }) => unknownIn(selector).map((unknown) => `${name}: ${unknown}`)),
  ).toEqual([]);
});

test.skipIf(analyzer === undefined)('systemd reads every line of the unit', async () => {
  // Files that the unit names have to exist.
  const unit = fileOf('footfall.service')
    .replace('/usr/bin/node', process.execPath)
    .replaceAll('/opt/footfall', projectRoot);
  const problemsOf = async (text: string) => {
    const file = join(folder, 'footfall.service');
    writeFileSync(file, text);
    const { stdout, stderr } = await run(analyzer ?? '', ['verify', '--man=no', file]);
    return (stdout + stderr).split('\n').filter((line) => line.includes('footfall.service'));
  };
  expect(await problemsOf(unit)).toEqual([]);
  expect(await problemsOf(unit.replace('KillMode', 'KillMood'))).toHaveLength(1);
});

test('the doctor finds the service that runs, and nothing wrong with it', async () => {
  const env = { ...process.env, BASE_URL: undefined, DATA_DIR: join(folder, 'data'), PORT: port };
  const { stdout } = await run(process.execPath, [join(projectRoot, 'infra/launch/doctor/doctor.mjs')], {
    env,
  });
  expect(stdout).toContain(`footfall runs at port ${port} and is ready\n`);
  expect(stdout).not.toContain('✗');
});

test('what the service does not export is found', () => {
  expect(
    [
      { metric: 'no_such_total', matchers: [], grouping: [] },
      { metric: 'ingest_rejects_total', matchers: [['reason', ['no-such']] as const], grouping: ['lane'] },
    ].flatMap(unknownIn),
  ).toEqual(['no_such_total', 'ingest_rejects_total{reason="no-such"}', 'ingest_rejects_total by (lane)']);
});
