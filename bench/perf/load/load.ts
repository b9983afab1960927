import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../../infra/root.ts';
import { findProgram, installedProgram, type WantedProgram } from '../../../infra/testing/debian-program.ts';

/** The generator's figures of a stretch of load. */
export interface LoadFigures {
  readonly seconds: number;
  /** Answers with a status below 400. */
  readonly accepted: number;
  readonly failed: number;
  /** Accepted requests a second. */
  readonly perSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU time of the generator, all of it. */
  readonly generatorCpuMicros: number;
}

/** The same from our own generator, which knows each answer. */
export interface OwnFigures extends LoadFigures {
  /** Answers with status 503, which are among the failed. */
  readonly refused: number;
  /** Requests without an answer, and those never sent, which are among the failed. */
  readonly unanswered: number;
}

export interface Load {
  /** Base URL of the server. */
  readonly url: string;
  /** The file of a request pool. */
  readonly pool: string;
  readonly connections: number;
  readonly seconds: number;
  readonly seed: number;
}

/** A load in which requests start at fixed times, whether or not earlier ones are answered. */
export interface OpenLoad extends Load {
  readonly ratePerSec: number;
  /** Longest wait for answers after the last request. */
  readonly lastAnswersMaxMs?: number;
  /** A request that finds every connection waiting for an answer is never sent. Otherwise it waits for a connection. */
  readonly dropsLate?: boolean;
}

/** Sends as fast as answers come, one request in flight on each connection. */
export interface ClosedLoop {
  /** For results: which program makes the load. */
  readonly name: string;
  run(load: Load): Promise<LoadFigures>;
}

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 1_048_576;
// Linux counts CPU time in ticks of this length.
const TICK_MICROS = 10_000;

const WRK: WantedProgram = {
  variable: 'WRK',
  names: ['wrk'],
  packageName: 'wrk',
  otherwise: 'The benchmark uses its own generator.',
};

/**
 * wrk, if it is on this machine or may be installed; otherwise our own generator, which takes up to twice as much CPU per
 * request and so takes more from the server.
 */
export async function closedLoop({ mayInstall }: { readonly mayInstall: boolean }): Promise<ClosedLoop> {
  const wrk = mayInstall ? await foundOrInstalled() : installedProgram(WRK);
  if (wrk !== undefined) return { name: 'wrk', run: (load) => runWrk(wrk, load) };
  return { name: 'our own, because there is no wrk', run: (load) => runOwn(load) };
}

async function foundOrInstalled(): Promise<string | undefined> {
  try {
    return await findProgram(WRK);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return undefined;
  }
}

/**
 * Sends at a fixed rate. Times run from the intended start of a request, so a server that pauses is charged with every request
 * during the pause.
 */
export function runOpenLoop(load: OpenLoad): Promise<OwnFigures> {
  return runOwn(load);
}

async function runWrk(path: string, { url, pool, connections, seconds, seed }: Load): Promise<LoadFigures> {
  const script = join(projectRoot, 'bench/perf/load/page-views.lua');
  // wrk takes whole seconds only.
  const wholeSeconds = Math.max(1, Math.round(seconds));
  const size = ['-t1', `-c${connections}`, `-d${wholeSeconds}s`, '--timeout', '10s'];
  const beforeMicros = childrenCpuMicros();
  const { stdout } = await run(path, [...size, '-s', script, url, '--', pool, String(seed)]);
  const generatorCpuMicros = childrenCpuMicros() - beforeMicros;
  const line = /^result (\{.*\})$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  const result = JSON.parse(line) as Readonly<
    Record<'micros' | 'answers' | 'failed' | 'p50' | 'p99' | 'max', number>
  >;
  const took = result.micros / 1_000_000;
  const accepted = result.answers - result.failed;
  return {
    seconds: took,
    accepted,
    failed: result.failed,
    perSec: accepted / took,
    p50Ms: result.p50 / 1_000,
    p99Ms: result.p99 / 1_000,
    maxMs: result.max / 1_000,
    generatorCpuMicros,
  };
}

/** Runs `generator.ts` in its own process, so that nothing else delays its timers. */
async function runOwn(load: Load | OpenLoad): Promise<OwnFigures> {
  const planPath = join(tmpdir(), `footfall-load-${randomUUID()}.json`);
  writeFileSync(planPath, JSON.stringify(load));
  try {
    const program = join(projectRoot, 'dist/bench/main.js');
    const { stdout } = await run(process.execPath, [program, 'load', planPath], {
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return JSON.parse(stdout) as OwnFigures;
  } finally {
    rmSync(planPath, { force: true });
  }
}

/** CPU time of all children of this process that have ended. */
function childrenCpuMicros(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MICROS;
}
