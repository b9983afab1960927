import { spawn } from 'node:child_process';
import { INSERTS_MAX, QUERIES_MAX } from './execute.ts';

// Besides statements: the connection that kills queries, and file access.
const OTHER_THREADS = 4;

/** The number of libuv threads needed: each running statement occupies one, and none may wait for another. */
export const THREADS_MIN: number = QUERIES_MAX + INSERTS_MAX + OTHER_THREADS;

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
