import { setTimeout as wait } from 'node:timers/promises';
import type { Store } from '../../../infra/store/store.ts';
import { Client, rejectOf } from '../../cluster/client.ts';
import { DEFAULT_SETTINGS, ShippedService } from '../../cluster/shipped-service.ts';
import { type Finding, percentile, rounded, type Table, type TableRow } from '../results.ts';
import { untilStored } from '../service-cost.ts';
import { FLOOR_STATEMENTS, makeFloor } from './floor.ts';
import { sendSmallSite, Trickle, untilCalm } from './small-site.ts';

/**
 * Question: how long does a small site wait for an answer, and what does the answer cost in all processes? The service is
 * `npm start` itself; the site's events come over HTTP with times of the last 30 days. While questions run, a visitor views a
 * page twice a second, so some rows are always hot; the cost of this without questions is measured first and subtracted.
 *
 * Single questions follow each other with a pause, so none shares another's fetch from the owner. The same questions as plain
 * SQL over a plain table in the same store (`floor.ts`) run in the same run.
 *
 * Not measured: large sites (`query-bench.ts`), several sites together, cold caches.
 */
export interface SmallSiteOptions {
  readonly events: number;
  readonly secondsPerTurn: number;
  readonly isTiny: boolean;
  readonly profileTo: string | undefined;
}

const SEED = 20_240_504;
const DAYS = 30;
const WARM_UP_TURNS = 3;
const AT_ONCE = 8;
/** Longer than an answer from the processors is shared. */
const PAUSE_MS = 110;
/** The duration of one run's questions. */
const WINDOW_MS = 600;
const IDLE_WINDOWS = 15;
const TURNS_A_RUN = 5;
const COUNTRY = JSON.stringify([{ name: 'country', operator: 'is', value: ['DE'] }]);
const GOALS = { p50Ms: 15, cpuMs: 15, eightMs: 60, perSec: 100, liveP50Ms: 2 };
const LIVE = 'live';

/** Path and query below `/insights/{projectId}/`, by title. */
const QUESTIONS: Readonly<Record<string, string>> = {
  [LIVE]: 'live',
  'live, details': 'live?details=true',
  'metrics today': 'metrics?range=today',
  'metrics 30d': 'metrics?range=30d',
  'metrics 30d, one country': `metrics?range=30d&filters=${encodeURIComponent(COUNTRY)}`,
  'pages 30d': 'pages?range=30d',
  'entry_exit 30d': 'pages/entry_exit?range=30d',
  'country 30d': 'country?range=30d',
  'referrer_name 30d': 'referrer_name?range=30d',
  'active_users 30d': 'active_users?range=30d',
  'events 30d': 'events?range=30d',
  'events/names 30d': 'events/names?range=30d',
  'sessions 30d': 'sessions?range=30d',
};

type Cpu = Readonly<Record<string, number>>;

/**
 * The CPU time of all processes between two moments, less their use without questions. The store merges parts in bursts, which
 * say nothing about the questions at the time: so idle time and questions are measured in short windows, and the median counts.
 */
class CpuMeter {
  readonly #service: ShippedService;
  #idlePerMs: Cpu = {};

  constructor(service: ShippedService) {
    this.#service = service;
  }

  /** Microseconds a millisecond, by part and of everything. */
  async measureIdle(): Promise<Cpu> {
    const windows: Cpu[] = [];
    for (let window = 0; window < IDLE_WINDOWS; window += 1) {
      const used = await this.of(() => wait(WINDOW_MS));
      windows.push(mapped(used, (micros) => micros / WINDOW_MS));
    }
    this.#idlePerMs = medians(windows);
    return this.#idlePerMs;
  }

  /** Microseconds by part and, as `all`, of everything. */
  async of(run: () => Promise<unknown>): Promise<Cpu> {
    const [before, startedMs] = [this.#service.cpuMicros(), performance.now()];
    await run();
    const [after, tookMs] = [this.#service.cpuMicros(), performance.now() - startedMs];
    return Object.fromEntries(
      Object.entries(after).map(([name, micros]) => [
        name,
        micros - (before[name] ?? 0) - (this.#idlePerMs[name] ?? 0) * tookMs,
      ]),
    );
  }

  /** The median of several runs, each some hundred milliseconds long. */
  async median(runs: number, run: () => Promise<unknown>): Promise<Cpu> {
    const windows: Cpu[] = [];
    for (let turn = 0; turn < runs; turn += 1) windows.push(await this.of(run));
    return medians(windows);
  }
}

function medians(windows: readonly Cpu[]): Cpu {
  return mapped(windows[0] ?? {}, (_, name) =>
    percentile(
      windows.map((window) => window[name] ?? 0),
      0.5,
    ),
  );
}

function mapped(cpu: Cpu, change: (micros: number, name: string) => number): Cpu {
  return Object.fromEntries(Object.entries(cpu).map(([name, micros]) => [name, change(micros, name)]));
}

export async function smallSiteBench(options: SmallSiteOptions): Promise<Finding> {
  const { events, isTiny } = options;
  const plan = { seed: SEED, events, days: DAYS };
  // Limits are off: the bench measures answering, not counting requests. Rollups run soon, so that old days have them.
  const env = { QUERY_LIMIT_PER_10_S: '0', ROLLUP_INTERVAL_MS: '1000' };
  await using service = await ShippedService.start({ ...DEFAULT_SETTINGS, env }, options.profileTo);
  await sendSmallSite(service, plan);
  await untilStored(service, events);
  const store = service.openStore();
  const client = new Client(AT_ONCE);
  try {
    const isCalm = isTiny || (await untilCalm(store));
    await makeFloor(store, service.credentials.projectId);
    const trickle = new Trickle(service, SEED);
    const meter = new CpuMeter(service);
    const asker = new QuestionTimer(service, client);
    const runs = isTiny ? 1 : 7;
    const turns = isTiny ? 1 : TURNS_A_RUN;
    for (const path of Object.values(QUESTIONS))
      for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) await asker.ask(path);
    const idle = await meter.measureIdle();
    const tables: Record<string, Table> = { questions: {}, stages: {}, 'eight at once': {}, floor: {} };
    for (const [title, path] of Object.entries(QUESTIONS)) {
      process.stdout.write(`asking ${title}\n`);
      asker.taken();
      const asked = await meter.median(runs, () => asker.times(path, turns));
      const { times, stages } = asker.taken();
      Object.assign(tables.questions ?? {}, { [title]: { ...timesOf(times), ...cpuMsOf(asked, turns) } });
      Object.assign(tables.stages ?? {}, { [title]: stages });
      const rounds = isTiny ? 1 : 6;
      const eight: number[] = [];
      const together = await meter.of(async () => {
        for (let round = 0; round < rounds; round += 1) eight.push(await asker.atOnce(path, AT_ONCE));
      });
      const row = { ...timesOf(eight), ...cpuMsOf(together, rounds * AT_ONCE) };
      Object.assign(tables['eight at once'] ?? {}, { [title]: row });
    }
    Object.assign(tables.floor ?? {}, await floorTimes(store, meter, { runs, turns }));
    const rate = await questionRate(asker, meter, isTiny ? 1 : options.secondsPerTurn);
    await trickle.stop();
    return finding(options, tables, { rate, idle, isCalm });
  } finally {
    client.close();
    await store.close();
  }
}

/** Asks about the site of a service and notes how long the answers take. */
class QuestionTimer {
  readonly #service: ShippedService;
  readonly #client: Client;
  #times: number[] = [];
  #stages: TableRow[] = [];

  constructor(service: ShippedService, client: Client) {
    this.#service = service;
    this.#client = client;
  }

  /** Throws with the reason when the answer is not 200. */
  async ask(path: string): Promise<void> {
    const { url, credentials } = this.#service;
    const startedMs = performance.now();
    const answer = await this.#client.get(
      `${url}/insights/${credentials.projectId}/${path}`,
      credentials.clients.read,
    );
    if (answer.status !== 200) throw new Error(`${path}: ${rejectOf(answer)}`);
    this.#times.push(performance.now() - startedMs);
    this.#stages.push(stagesIn(answer.serverTiming ?? ''));
  }

  async times(path: string, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) {
      await wait(PAUSE_MS);
      await this.ask(path);
    }
  }

  /** Returns the time until the last of several concurrent questions is answered. */
  async atOnce(path: string, count: number): Promise<number> {
    await wait(PAUSE_MS);
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: count }, () => this.ask(path)));
    return performance.now() - startedMs;
  }

  /** The times, and the mean of each stage, of the questions since the last call. */
  taken(): { readonly times: readonly number[]; readonly stages: TableRow } {
    const [times, all] = [this.#times, this.#stages];
    [this.#times, this.#stages] = [[], []];
    const sums: Record<string, number> = {};
    for (const stages of all)
      for (const [name, ms] of Object.entries(stages)) sums[name] = (sums[name] ?? 0) + ms / all.length;
    return {
      times,
      stages: Object.fromEntries(Object.entries(sums).map(([name, ms]) => [name, rounded(ms)])),
    };
  }
}

function stagesIn(header: string): TableRow {
  const entries = [...header.matchAll(/([a-z]+);dur=([\d.]+)/g)];
  return Object.fromEntries(entries.map(([, name = '', ms]) => [name, Number(ms)]));
}

async function floorTimes(
  store: Store,
  meter: CpuMeter,
  { runs, turns }: { readonly runs: number; readonly turns: number },
): Promise<Table> {
  const rows: Record<string, TableRow> = {};
  for (const [title, sql] of Object.entries({ 'SELECT 1': 'SELECT 1 AS one', ...FLOOR_STATEMENTS })) {
    for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) await store.query(sql);
    const times: number[] = [];
    const cpu = await meter.median(runs, async () => {
      for (let turn = 0; turn < turns; turn += 1) {
        await wait(PAUSE_MS);
        const startedMs = performance.now();
        await store.query(sql);
        times.push(performance.now() - startedMs);
      }
    });
    rows[title] = { ...timesOf(times), ...cpuMsOf(cpu, turns) };
  }
  return rows;
}

/** Every question but `live` in turns, with eight in flight. */
async function questionRate(asker: QuestionTimer, meter: CpuMeter, seconds: number): Promise<TableRow> {
  const paths = Object.entries(QUESTIONS).flatMap(([title, path]) => (title.startsWith(LIVE) ? [] : [path]));
  const endMs = performance.now() + seconds * 1_000;
  let asked = 0;
  const startedMs = performance.now();
  asker.taken();
  const askOnAndOn = async () => {
    while (performance.now() < endMs) {
      asked += 1;
      await asker.ask(paths[asked % paths.length] ?? '');
    }
  };
  const cpu = await meter.of(async () => {
    await Promise.all(Array.from({ length: AT_ONCE }, askOnAndOn));
  });
  const perSec = asked / ((performance.now() - startedMs) / 1_000);
  return { perSec: rounded(perSec), ...timesOf(asker.taken().times), ...cpuMsOf(cpu, asked) };
}

function timesOf(times: readonly number[]): TableRow {
  return { p50Ms: rounded(percentile(times, 0.5)), p95Ms: rounded(percentile(times, 0.95)) };
}

/** Milliseconds a question by part, those without any left out. */
function cpuMsOf({ all = 0, ...parts }: Cpu, questions: number): TableRow {
  const shown = Object.entries(parts).map(([name, micros]): [string, number] => [
    `cpu ${name}`,
    Math.max(0, Math.round(micros / questions / 10) / 100),
  ]);
  return { 'cpu all': Math.round(all / questions / 10) / 100, ...Object.fromEntries(shown) };
}

function finding(
  { events, secondsPerTurn, isTiny }: SmallSiteOptions,
  tables: Readonly<Record<string, Table>>,
  { rate, idle, isCalm }: { readonly rate: TableRow; readonly idle: Cpu; readonly isCalm: boolean },
): Finding {
  const worst = (table: string, column: string) =>
    Object.entries(tables[table] ?? {})
      .filter(([title]) => !title.startsWith(LIVE))
      .reduce<[string, number]>(
        (most, [title, row]) => ((row[column] ?? 0) > most[1] ? [title, row[column] ?? 0] : most),
        ['', 0],
      );
  const [slowest, p50Ms] = worst('questions', 'p50Ms');
  const [dearest, cpuMs] = worst('questions', 'cpu all');
  const [slowestOfEight, eightMs] = worst('eight at once', 'p50Ms');
  const perSec = rate.perSec ?? 0;
  const liveMs = tables.questions?.[LIVE]?.p50Ms ?? 0;
  const goals: readonly (readonly [isReached: boolean, words: string])[] = [
    [p50Ms <= GOALS.p50Ms, `slowest: ${slowest}, p50 ${p50Ms} ms, goal ${GOALS.p50Ms}`],
    [cpuMs <= GOALS.cpuMs, `dearest: ${dearest}, ${cpuMs} ms of CPU, goal ${GOALS.cpuMs}`],
    [eightMs <= GOALS.eightMs, `eight at once: ${slowestOfEight}, p50 ${eightMs} ms, goal ${GOALS.eightMs}`],
    [perSec >= GOALS.perSec, `${perSec} questions a second, goal ${GOALS.perSec}`],
    [liveMs <= GOALS.liveP50Ms, `live p50 ${liveMs} ms, goal ${GOALS.liveP50Ms}`],
  ];
  return {
    name: isTiny ? 'query' : `query-${events}`,
    config: { events, days: DAYS, seed: SEED, secondsPerTurn, isCalm },
    figures: {
      'idle CPU, ms a second': Object.fromEntries(
        Object.entries(idle).map(([name, perMs]) => [name, rounded(perMs)]),
      ),
    },
    tables: { ...tables, rate: { 'all, eight in flight': rate } },
    verdict: goals.every(([isReached]) => isReached) ? 'reached' : 'missed',
    reasons: goals.map(([isReached, words]) => `${isReached ? 'reached' : 'missed '} ${words}`),
  };
}
