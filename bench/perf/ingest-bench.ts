import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OwnProcess } from '../cluster/child-process.ts';
import { cpuMicros } from '../cluster/process-cost.ts';
import { ShippedService } from '../cluster/shipped-service.ts';
import { echoProcess } from './echo.ts';
import { type ClosedLoop, closedLoop, type LoadFigures } from './load/load.ts';
import { type RequestPool, writePool } from './load/request-pool.ts';
import { type Finding, median, rounded, spread, type TableRow } from './results.ts';
import { cpuPerEvent, type EventCost, untilStored, workPerEvent } from './service-cost.ts';
import { nodeVersionOf, type Variant } from './variants.ts';

/**
 * Question: how many events a second does the whole service take on one machine, and what does each cost? `POST /track`,
 * answered when the bus has the event on disk, against a bare JSON echo on the same HTTP library, by the same generator
 * with the same requests, in turns. Each request is a page view of a random visitor of a pool. The service is `npm start`
 * itself; each turn starts it on an empty folder, so the first event of a visitor opens a session. CPU time counts from
 * the first request until everything is in the store.
 *
 * Not compared: network, TLS, questions (none are asked), old data that merges have to move. The generator runs on the
 * same cores.
 */
export interface IngestBenchOptions {
  readonly rows: readonly LoadRow[];
  readonly variants: readonly [Variant, ...Variant[]];
  readonly seconds: number;
  readonly turns: number;
  readonly profileTo: string | undefined;
  /** Nothing is installed for it. */
  readonly isTiny: boolean;
}

/** A row of the table: that many connections, and a pool of that many visitors. */
export interface LoadRow {
  readonly connections: number;
  readonly visitors: number;
}

export const LOAD_ROWS: readonly LoadRow[] = [
  { connections: 256, visitors: 2_000 },
  { connections: 256, visitors: 25_000 },
  { connections: 64, visitors: 2_000 },
  { connections: 64, visitors: 25_000 },
  { connections: 1_024, visitors: 2_000 },
];

/** Loads with goals, by the name of their row; every row has the goal for questions. */
const GOALS: Readonly<Record<string, { ratio: number; cpuMicros: number; p99Ms?: number }>> = {
  '256x25000': { ratio: 0.3, cpuMicros: 100 },
  '64x25000': { ratio: 0.2, cpuMicros: 130, p99Ms: 25 },
};
const QUESTIONS_GOAL = 0.05;
/** Above this share of a core, the generator itself is the limit. */
const GENERATOR_BUSY_MAX = 0.95;
const SEED = 20_240_501;
const WARM_UP_POOL = 255;
/** The echo needs less time than the service to reach its speed, and its turns say little that is new. */
const ECHO_SECONDS_MAX = 4;

/** One load of the service, and of the echo before it. */
interface Turn {
  readonly echo: LoadFigures;
  readonly echoCpuMicros: number;
  readonly load: LoadFigures;
  readonly events: number;
  readonly sessions: number;
  /** From the last answer until everything was in the store. */
  readonly lagMs: number;
  readonly cpu: EventCost;
  readonly work: EventCost;
  readonly residentMB: number;
}

/** `256x25000`, as `--only` takes it. */
export function nameOfRow({ connections, visitors }: LoadRow): string {
  return `${connections}x${visitors}`;
}

export async function ingestBench(options: IngestBenchOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-ingest-bench-'));
  mkdirSync(join(folder, 'logs'));
  const generator = await closedLoop({ mayInstall: !options.isTiny });
  const echo = echoProcess(folder);
  const turns = new Map<string, Turn[]>();
  const checksums: string[] = [];
  let busVersion = '';
  try {
    const echoUrl = (JSON.parse(await echo.start()) as { url: string }).url;
    for (let count = 0; count < options.turns; count += 1) {
      for (const variant of options.variants) {
        await using service = await ShippedService.start(variant.settings, options.profileTo);
        busVersion = service.busVersion;
        const bench = new Bench({ folder, generator, echo, echoUrl, service, seconds: options.seconds });
        if (options.rows[0] !== undefined) await bench.warmUp(options.rows[0]);
        for (const [index, row] of options.rows.entries()) {
          const { turn, pool } = await bench.turn(row, index);
          const name = rowName(row, variant);
          turns.set(name, [...(turns.get(name) ?? []), turn]);
          if (count === 0) checksums.push(pool.checksum);
        }
      }
    }
  } finally {
    await echo.kill();
    rmSync(folder, { recursive: true, force: true });
  }
  return finding(options, turns, { generator: generator.name, busVersion, checksum: checksums[0] ?? '' });
}

interface BenchParts {
  readonly folder: string;
  readonly generator: ClosedLoop;
  readonly echo: OwnProcess;
  readonly echoUrl: string;
  readonly service: ShippedService;
  readonly seconds: number;
}

class Bench {
  readonly #parts: BenchParts;

  constructor(parts: BenchParts) {
    this.#parts = parts;
  }

  async warmUp(row: LoadRow): Promise<void> {
    const { service, echoUrl, seconds } = this.#parts;
    const pool = this.#pool(row, WARM_UP_POOL);
    for (const url of [echoUrl, service.url])
      await this.#load(url, pool, row, Math.min(ECHO_SECONDS_MAX, seconds));
    await untilStored(service);
  }

  async turn(row: LoadRow, number: number): Promise<{ readonly turn: Turn; readonly pool: RequestPool }> {
    const { service, echo, echoUrl, seconds } = this.#parts;
    const pool = this.#pool(row, number);
    const echoBefore = cpuMicros(echo.pid);
    const echoed = await this.#load(echoUrl, pool, row, Math.min(ECHO_SECONDS_MAX, seconds));
    const echoCpuMicros = cpuMicros(echo.pid) - echoBefore;
    const [storedBefore, sessionsBefore] = [await untilStored(service), await service.sessions()];
    const before = await service.totals();
    const cpuBefore = service.cpuMicros();
    const load = await this.#load(service.url, pool, row, seconds);
    const endedMs = performance.now();
    const stored = await untilStored(service, storedBefore + load.accepted);
    const cpu = service.cpuMicros();
    const lagMs = performance.now() - endedMs;
    const after = await service.totals();
    const events = stored - storedBefore;
    return {
      pool,
      turn: {
        echo: echoed,
        echoCpuMicros: echoCpuMicros / echoed.accepted,
        load,
        events,
        sessions: (await service.sessions()) - sessionsBefore,
        lagMs,
        cpu: cpuPerEvent(cpuBefore, cpu, events),
        work: workPerEvent(before, after, events),
        residentMB: service.residentMB(),
      },
    };
  }

  #pool({ visitors }: LoadRow, number: number): RequestPool {
    const { folder, service } = this.#parts;
    const path = join(folder, `pool-${number}`);
    return writePool({
      path,
      seed: SEED + number,
      visitors,
      number,
      credential: service.credentials.clients.write,
    });
  }

  #load(url: string, pool: RequestPool, { connections }: LoadRow, seconds: number): Promise<LoadFigures> {
    return this.#parts.generator.run({
      url: `${url}/track`,
      pool: pool.path,
      connections,
      seconds,
      seed: SEED,
    });
  }
}

/** Facts that influence the figures of a run, besides its options. */
interface RunFacts {
  readonly generator: string;
  readonly busVersion: string;
  readonly checksum: string;
}

function finding(
  { rows, variants, seconds, turns: turnCount }: IngestBenchOptions,
  turns: ReadonlyMap<string, readonly Turn[]>,
  { generator, busVersion, checksum }: RunFacts,
): Finding {
  const load: Record<string, TableRow> = {};
  const cpu: Record<string, TableRow> = {};
  const work: Record<string, TableRow> = {};
  for (const [name, all] of turns) {
    load[name] = loadRowOf(all);
    cpu[name] = {
      ...mediansOf(all.map((turn) => turn.cpu)),
      echo: rounded(medianOf(all, (turn) => turn.echoCpuMicros)),
      generator: rounded(medianOf(all, (turn) => turn.load.generatorCpuMicros / turn.load.accepted)),
    };
    work[name] = mediansOf(all.map((turn) => turn.work));
  }
  const everyTurn = [...turns.values()].flat();
  const failed = everyTurn.reduce((sum, turn) => sum + turn.echo.failed + turn.load.failed, 0);
  const judged = rows.flatMap((row) => judge(row, turns.get(rowName(row, variants[0])) ?? []));
  const reasons = judged.map(({ text }) => text);
  if (failed > 0) reasons.push(`${failed} requests failed`);
  const busyShare = medianOf(everyTurn, ({ echo }) => echo.generatorCpuMicros / (echo.seconds * 1_000_000));
  if (busyShare > GENERATOR_BUSY_MAX)
    reasons.push('the generator limited the echo: read the CPU time, not only the ratio');
  const [{ name }] = variants;
  return {
    name: 'ingest',
    config: {
      rows: rows.map(nameOfRow).join(' '),
      seconds,
      turns: turnCount,
      seed: SEED,
      settings: name,
      serviceNode: nodeVersionOf(variants[0]),
      generator,
      requestsChecksum: checksum,
      busVersion,
    },
    figures: { generatorBusyShare: rounded(busyShare) },
    tables: { load, 'cpu µs an event': cpu, 'an event takes': work },
    verdict: failed > 0 ? 'invalid' : judged.every(({ isReached }) => isReached) ? 'reached' : 'missed',
    reasons,
  };
}

function loadRowOf(turns: readonly Turn[]): TableRow {
  return {
    perSec: Math.round(medianOf(turns, ({ load }) => load.perSec)),
    spread: rounded(spread(turns.map(({ load }) => load.perSec))),
    echoPerSec: Math.round(medianOf(turns, ({ echo }) => echo.perSec)),
    ratio: rounded(medianOf(turns, ratioOf)),
    p50Ms: rounded(medianOf(turns, ({ load }) => load.p50Ms)),
    p99Ms: rounded(medianOf(turns, ({ load }) => load.p99Ms)),
    maxMs: rounded(medianOf(turns, ({ load }) => load.maxMs)),
    lagMs: Math.round(medianOf(turns, ({ lagMs }) => lagMs)),
    firstShare: rounded(medianOf(turns, ({ sessions, events }) => sessions / events)),
    residentMB: medianOf(turns, ({ residentMB }) => residentMB),
  };
}

function rowName(row: LoadRow, variant: Variant): string {
  return `${nameOfRow(row)} ${variant.name}`.trim();
}

/** Compares a row with its goals. */
function judge(
  row: LoadRow,
  turns: readonly Turn[],
): readonly { readonly isReached: boolean; readonly text: string }[] {
  const goal = GOALS[nameOfRow(row)];
  const ratio = medianOf(turns, ratioOf);
  const micros = medianOf(turns, ({ cpu }) => cpu.all ?? 0);
  const p99Ms = medianOf(turns, ({ load }) => load.p99Ms);
  const questions = medianOf(turns, ({ work }) => work.questions ?? 0);
  const parts: [isReached: boolean, text: string][] = [
    [questions <= QUESTIONS_GOAL, `${rounded(questions)} questions an event (goal ${QUESTIONS_GOAL})`],
  ];
  if (goal !== undefined) {
    parts.push(
      [ratio >= goal.ratio, `ratio ${rounded(ratio)} (goal ${goal.ratio})`],
      [micros <= goal.cpuMicros, `${rounded(micros)} µs (goal ${goal.cpuMicros})`],
    );
    if (goal.p99Ms !== undefined)
      parts.push([p99Ms <= goal.p99Ms, `p99 ${rounded(p99Ms)} ms (goal ${goal.p99Ms})`]);
  }
  return parts.map(([isReached, text]) => ({ isReached, text: `${nameOfRow(row)}: ${text}` }));
}

function ratioOf({ load, echo }: Turn): number {
  return load.perSec / echo.perSec;
}

function medianOf<Item>(items: readonly Item[], number: (item: Item) => number): number {
  return median(items.map(number));
}

/** The median of each column. A row may lack columns. */
function mediansOf(rows: readonly TableRow[]): TableRow {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return Object.fromEntries(columns.map((column) => [column, medianOf(rows, (row) => row[column] ?? 0)]));
}
