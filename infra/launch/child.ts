import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { signal } from './processes.ts';

export interface ChildPlan {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Checks readiness from outside. Without it, the child prints `ready {json}` on its standard output. */
  readonly probe: ((isGone: () => boolean) => Promise<Record<string, unknown>>) | undefined;
}

export type OnLine = (line: string, stream: 'stdout' | 'stderr') => void;
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
export interface Child {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** The content of the ready line; undefined when the child ended before. */
  readonly ready: Promise<Record<string, unknown> | undefined>;
  readonly isGone: () => boolean;
  readonly signal: (name: NodeJS.Signals) => void;
}

const LAST_OUTPUT_MS = 200;

/**
 * Starts one process of a part, in its own process group: Ctrl-C at the terminal reaches only the launcher, which stops the parts in
 * order. Its standard input is a pipe; the end of the pipe shows the child that the launcher is gone, even after SIGKILL.
 * `onLine` is called with every line of the child's output.
 *
 * execa is not used: it ends children, but not their own children.
 */
export async function startChild(plan: ChildPlan, onLine: OnLine): Promise<Child> {
  const spawned = spawn(plan.command, plan.args, {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await new Promise((resolve, reject) => {
    spawned.once('spawn', resolve);
    spawned.once('error', reject);
  });
  const pid = spawned.pid as number;
  spawned.on('error', () => {}); // A signal could not be sent; `exited` reports what matters.
  spawned.stdin.on('error', () => {});
  let isGone = false;
  const exited: Promise<Exit> = new Promise((resolve) => {
    spawned.once('exit', (code, name) => {
      isGone = true;
      const finish = () => {
        clearTimeout(timer);
        signal(-pid, 'SIGKILL'); // Processes that the child started must not outlive it and keep its files open.
        resolve({ code, signal: name });
      };
      // The child's last output may still be in the pipe, and a process that it started can keep the pipe open.
      const timer = setTimeout(finish, LAST_OUTPUT_MS);
      spawned.once('close', finish);
    });
  });
  const readyLine = readReadyLine(spawned.stdout, onLine);
  createInterface({ input: spawned.stderr }).on('line', (line) => onLine(line, 'stderr'));
  const ready = plan.probe === undefined ? readyLine : plan.probe(() => isGone);
  return {
    pid,
    exited,
    isGone: () => isGone,
    ready: Promise.race([ready, exited.then(() => undefined)]),
    signal: (name) => (isGone ? undefined : signal(pid, name)),
  };
}

function readReadyLine(output: Readable, onLine: OnLine): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    createInterface({ input: output }).on('line', (line) => {
      onLine(line, 'stdout');
      const facts = parseReadyLine(line);
      if (facts !== undefined) resolve(facts);
    });
  });
}

/** Returns what follows `ready`; undefined for any other line. */
export function parseReadyLine(line: string): Record<string, unknown> | undefined {
  if (line !== 'ready' && !line.startsWith('ready {')) return undefined;
  try {
    return line === 'ready' ? {} : JSON.parse(line.slice('ready '.length));
  } catch {
    return undefined;
  }
}

/** Describes how a process ended. */
export function describeExit({ code, signal: name }: Exit) {
  return name === null ? `exited with code ${code}` : `was killed by ${name}`;
}
