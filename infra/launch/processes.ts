import { isAlive, proc, ps } from './process-identity.mjs';

const KILLED_MAX_MS = 5_000;
const POLL_MS = 20;

/** True if the process has `mark` in its command line or its environment, which means that a launcher started it. */
export function carriesMark(pid: number, mark: string): boolean {
  if (mark === '' || !isAlive(pid)) return false;
  const own =
    process.platform === 'linux' ? proc(pid, 'cmdline') + proc(pid, 'environ') : ps(pid, 'command=', '-E');
  return own.includes(mark);
}

/** Stops a process with SIGTERM, and with SIGKILL after `graceMs`. Resolves when it has ended. */
export async function endProcess(pid: number, graceMs: number): Promise<void> {
  signal(pid, 'SIGTERM');
  if (await goneWithin(pid, graceMs)) return;
  signal(pid, 'SIGKILL');
  await goneWithin(pid, KILLED_MAX_MS);
}

/** Waits for the end of a process. Resolves with false when it still runs after `waitMs`. */
export async function goneWithin(pid: number, waitMs: number): Promise<boolean> {
  const deadlineMs = Date.now() + waitMs;
  while (isAlive(pid)) {
    if (Date.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

/** Sends a signal; a process that is already gone is not an error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
