import { spawnSync } from 'node:child_process';

/** Runs a program of the system that needs root, and returns what it printed. Throws with its words when it fails. */
export function runAsRoot(command: string, line: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, line.split(' '), { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${command} ${line}: ${error?.message ?? stderr.trim()}`);
}

/** Whether a process of this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
