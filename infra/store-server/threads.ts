import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { INSERTS_MAX, QUERIES_MAX } from './execute.ts';

// Besides statements: the connection that kills queries, and file access.
const OTHER_THREADS = 4;

/** The number of libuv threads needed: each running statement occupies one, and none may wait for another. */
export const THREADS_MIN: number = QUERIES_MAX + INSERTS_MAX + OTHER_THREADS;

/**
 * Added to the niceness of the store: each of its threads weighs a third of another process's. With 10, a ninth,
 * questions could wait for a core while events keep the others busy.
 */
const NICER = 5;
const THREADS_FOLDER = '/proc/self/task';

/** libuv reads this variable once, before any of our code runs, so it must be set from the start. */
export function hasThreads(): boolean {
  const environment: Readonly<Record<string, string | undefined>> = { ...process.env };
  return Number(environment.UV_THREADPOOL_SIZE ?? 0) >= THREADS_MIN;
}

/**
 * Runs this program again with enough threads, and exits with its exit code. A caller that sets UV_THREADPOOL_SIZE
 * avoids the second process.
 */
export function runWithThreads(): void {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS_MIN), EXIT_WITH_STDIN: '1' },
    // If this process is killed, the child sees the end of its standard input.
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
  child.once('exit', (code) => process.exit(code ?? 1));
}

/**
 * Lowers the priority of this process. Statements have many threads; the bus, collectors and processors on the same cores have one or two
 * each, and everybody waits for these (bench/perf/README.md, A neighbour). To be called before the engine starts: on Linux each thread
 * has a priority of its own, and inherits it from its creator.
 */
export function lowerPriority(): void {
  const priority = Math.min(getPriority() + NICER, constants.priority.PRIORITY_LOW);
  const threads = existsSync(THREADS_FOLDER) ? readdirSync(THREADS_FOLDER).map(Number) : [process.pid];
  for (const thread of threads) {
    try {
      setPriority(thread, priority);
    } catch {
      // The thread has ended, or a sandbox forbids it: the store works with any priority.
    }
  }
}
