import { spawnSync } from 'node:child_process';
import { findProgram, type WantedProgram } from '../../infra/testing/debian-program.ts';
import { FAKETIME } from '../cluster/clocks.ts';

const TOOLS: readonly WantedProgram[] = [
  {
    variable: 'IP_PROGRAM',
    names: ['ip'],
    packageName: 'iproute2',
    otherwise: 'Faults of networks are left out.',
  },
  FAKETIME,
];

/** Installs the tools that faults need besides root, if allowed; otherwise reports the missing ones. */
export async function installTools(): Promise<void> {
  for (const tool of TOOLS) await findProgram(tool);
}

/** Runs a program of the system that needs root, and returns its output. Throws with its error text if it fails. */
export function runAsRoot(command: string, line: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, line.split(' '), { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${command} ${line}: ${error?.message ?? stderr.trim()}`);
}

/** True if a process of this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
