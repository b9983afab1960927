import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { projectRoot } from '../root.ts';

/** One of our built programs as a process of its own. */
export interface Program {
  readonly child: ChildProcess;
  /** The output behind the word `ready`: JSON with its `url`, where it has one. */
  readonly ready: string;
  /** Sends a signal; resolves with the exit code, null after a signal that it does not take. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const run = promisify(execFile);

/** Starts a program with `node ARGS` in the project's folder, with only these settings; resolves when it is ready. */
export async function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Program> {
  const child = spawn(process.execPath, args, {
    cwd: projectRoot,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = await untilReady(child, args);
  child.stdout?.resume();
  return {
    child,
    ready,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill(signal);
      const [code] = await once(child, 'exit');
      return code;
    },
  };
}

/** Runs a program to its end and returns its output. Rejects when it ends with another code than 0. */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await run(process.execPath, args, {
    cwd: projectRoot,
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  return stdout;
}

async function untilReady(child: ChildProcess, args: readonly string[]): Promise<string> {
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  for await (const line of lines) if (line.startsWith('ready')) return line.slice('ready'.length).trim();
  throw new Error(`${args.join(' ')} ended before it was ready`);
}
