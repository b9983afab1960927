import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';

/** An editor writes a file in several steps. */
const QUIET_MS = 200;
const SOURCE = /\.(?:ts|tsx|mjs|js|sql|css|html|json)$/;
const NO_SOURCE = /\.test\.tsx?$|(?:^|\/)(?:testing|node_modules)\//;

/**
 * @typedef {object} ReloaderOptions
 * @property {string} root
 * @property {readonly string[]} folders below `root`, with the sources that are followed
 * @property {readonly [string, ...string[]]} command
 * @property {(line: string) => void} say
 */

/** Runs a program, and restarts it after each change of its sources. A program that ended by itself starts again after the next change. */
export class Reloader {
  #options;
  /** @type {import('node:fs').FSWatcher[]} */
  #watchers = [];
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isReloading = false;
  #isOver = false;
  /** @type {(code: number) => void} */
  #end = () => {};

  /**
   * Resolves after `stop`, with the exit code of the program.
   * @type {Promise<number>}
   */
  ended = new Promise((resolve) => {
    this.#end = resolve;
  });

  /** @param {ReloaderOptions} options */
  constructor(options) {
    this.#options = options;
  }

  start() {
    const { root, folders } = this.#options;
    for (const folder of folders)
      this.#watchers.push(
        watch(join(root, folder), { recursive: true }, (_event, name) => {
          if (name !== null && isSource(name)) this.#changed(join(folder, name));
        }),
      );
    this.#run();
  }

  /**
   * Passes a signal on, and runs nothing more.
   * @param {NodeJS.Signals} signal
   */
  stop(signal) {
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

  /** @param {string} path */
  #changed(path) {
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

/**
 * True if a change of the file changes the program.
 * @param {string} path
 */
export function isSource(path) {
  return SOURCE.test(path) && !NO_SOURCE.test(path);
}
