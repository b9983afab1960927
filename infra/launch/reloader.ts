import { type ChildProcess, spawn } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../root.ts';

/** An editor writes a file in several steps. */
const QUIET_MS = 200;
const SOURCE = /\.(?:ts|tsx|mjs|js|sql|css|html|json)$/;
const NO_SOURCE = /\.test\.tsx?$|(?:^|\/)(?:testing|node_modules)\//;

export interface ReloaderOptions {
  readonly root: string;
  /** Below `root`, with the sources that are followed. */
  readonly folders: readonly string[];
  readonly command: readonly [string, ...string[]];
  readonly say: (line: string) => void;
}

const FOLLOWED = ['infra', 'ingest', 'processor', 'query', 'bench/traffic'];

/** `npm run dev`: runs `npm start`, and restarts it after each change of a source. Sets the exit code. */
export async function reload(args: readonly string[]): Promise<void> {
  const reloader = new Reloader({
    root: projectRoot,
    folders: FOLLOWED,
    command: [process.execPath, join(projectRoot, 'infra/launch/start.mjs'), ...args],
    say: (line) => process.stdout.write(`dev: ${line}\n`),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => reloader.stop(signal));
  reloader.start();
  process.exitCode = await reloader.ended;
}

/** Runs a program, and restarts it after each change of its sources. A program that ended by itself starts again after the next change. */
export class Reloader {
  readonly #options: ReloaderOptions;
  #watchers: FSWatcher[] = [];
  #child: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReloading = false;
  #isOver = false;
  #end: (code: number) => void = () => {};

  /** Resolves after `stop`, with the exit code of the program. */
  readonly ended: Promise<number> = new Promise((resolve) => {
    this.#end = resolve;
  });

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  start(): void {
    const { root, folders } = this.#options;
    for (const folder of folders)
      this.#watchers.push(
        watch(join(root, folder), { recursive: true }, (_event, name) => {
          if (name !== null && isSource(name)) this.#changed(join(folder, name));
        }),
      );
    this.#run();
  }

  /** Passes a signal on, and runs nothing more. */
  stop(signal: NodeJS.Signals): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
    if (this.#child === undefined) this.#end(0);
    else this.#child.kill(signal);
  }

  #run() {
    const [program, ...args] = this.#options.command;
    // In a group of its own: otherwise a terminal's Ctrl-C would reach it twice, and the second one ends it without a drain.
    const child = spawn(program, args, { cwd: this.#options.root, stdio: 'inherit', detached: true });
    this.#child = child;
    child.once('error', (error) => this.#options.say(`not started: ${error.message}`));
    child.once('close', (code) => {
      this.#child = undefined;
      if (this.#isOver) this.#end(code ?? 1);
      else if (this.#isReloading) {
        this.#isReloading = false;
        this.#run();
      } else this.#options.say(`ended with code ${code ?? 'none'}; it starts again after the next change`);
    });
  }

  #changed(path: string) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#isOver || this.#isReloading) return;
      this.#options.say(`${path} has changed`);
      if (this.#child === undefined) return this.#run();
      this.#isReloading = true;
      this.#child.kill('SIGINT');
    }, QUIET_MS);
  }
}

/** True if a change of the file changes the program. */
export function isSource(path: string): boolean {
  return SOURCE.test(path) && !NO_SOURCE.test(path);
}
