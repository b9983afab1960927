import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../root.ts';

/** A run of the real launcher. */
export interface Launcher {
  readonly pid: number;
  /** Its output so far, standard error included. */
  output(): string;
  /** Resolves with the first match in the output; rejects when the program exits first or the time is up. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** The process ID of a part, as recorded by the launcher. */
  pidOf(part: string): number;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code; null after a signal. */
  readonly exited: Promise<number | null>;
}

const WAIT_MAX_MS = 120_000;

/**
 * Runs the program of `npm start` on a data folder and a free port. `env` replaces settings, and undefined removes one. `node` is the Node
 * to run it with, `args` follow `npm start --`, and `root` is the source tree that is started.
 */
export function startLauncher(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>> = {},
  node = process.execPath,
  args: readonly string[] = [],
  root = projectRoot,
): Launcher {
  const child = spawn(node, [join(root, 'infra/launch/start.mjs'), ...args], {
    cwd: root,
    // vitest sets BASE_URL to "/" in the environment. One process answers HTTP for any number of cores, so that it has one name.
    env: {
      ...process.env,
      BASE_URL: undefined,
      DATA_DIR: dataDir,
      PORT: '0',
      COLLECTORS: '1',
      NO_COLOR: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  let isGone = false;
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isGone = true;
      resolve(code);
    });
  });
  return {
    pid: child.pid ?? 0,
    output: () => output,
    waitFor: async (pattern) => {
      const deadlineMs = Date.now() + WAIT_MAX_MS;
      for (;;) {
        const match = pattern.exec(output);
        if (match !== null) return match;
        if (isGone || Date.now() > deadlineMs) throw new Error(`${pattern} did not appear in:\n${output}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    pidOf: (part) => {
      const run: { parts: Record<string, number> } = JSON.parse(
        readFileSync(join(dataDir, 'run.json'), 'utf8'),
      );
      const pid = run.parts[part];
      if (pid === undefined) throw new Error(`${part} is not running`);
      return pid;
    },
    signal: (name) => void child.kill(name),
    exited,
  };
}
