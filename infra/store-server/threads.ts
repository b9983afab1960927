import { spawn } from 'node:child_process';
import { INSERTS_MAX, QUERIES_MAX } from './execute.ts';

// Besides statements: the connection that kills queries, and reading and writing of files.
const OTHER_THREADS = 4;

/** How many threads libuv must have: each running statement holds one, and none may wait for another. */
export const THREADS_MIN: number = QUERIES_MAX + INSERTS_MAX + OTHER_THREADS;

/** libuv reads this once, before any of our code runs, so it must stand in the environment from the start. */
export function hasThreads(): boolean {
  const environment: Readonly<Record<string, string | undefined>> = { ...process.env };
  return Number(environment.UV_THREADPOOL_SIZE ?? 0) >= THREADS_MIN;
}

/**
 * Runs this program once more, with enough threads, and ends as it ends. Whoever starts the store with
 * UV_THREADPOOL_SIZE set saves the second process.
 */
export function runWithThreads(): void {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS_MIN), EXIT_WITH_STDIN: '1' },
    // Should this process be killed, the child sees the end of its standard input.
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
  child.once('exit', (code) => process.exit(code ?? 1));
}
