import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../root.ts';

/** A run of the real start program. */
export interface Launcher {
  readonly pid: number;
  /** What it has written so far, errors included. */
  output(): string;
  /** Resolves with the match once the output has it; fails when the program ends first or the time is over. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** The process id of a part, as the launcher recorded it. */
  pidOf(part: string): number;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code, null after a signal. */
  readonly exited: Promise<number | null>;
}

const WAIT_MAX_MS = 120_000;

/**
 * Runs `npm start`'s program on a data folder and a free port; `env` replaces settings, undefined removes one. `node`
 * is the program that runs it.
 */
export function startLauncher(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>> = {},
  node = process.execPath,
): Launcher {
  const child = spawn(node, [join(projectRoot, 'infra/launch/start.mjs')], {
    cwd: projectRoot,
    // vitest puts a BASE_URL of its own, "/", into the environment.
    env: { ...process.env, BASE_URL: undefined, DATA_DIR: dataDir, PORT: '0', NO_COLOR: '1', ...env },
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
