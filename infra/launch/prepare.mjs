import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, buildIsCurrent } from './build.mjs';
import { checkHttpLibrary } from './http-library.mjs';
import { waitForLock } from './lock.mjs';
import { installPackages, packagesAreCurrent } from './packages.mjs';
import { orExplain, Problem } from './problem.mjs';
import { projectRoot } from './root.mjs';
import { createTerminal, quietTerminal, wantsColor } from './terminal.mjs';

/** @typedef {import('./terminal.mjs').Terminal} Terminal */
/** @typedef {Readonly<Record<string, string | undefined>>} Env */
/**
 * The programs of the launcher that need packages and build, by their file in dist/infra/launch/.
 * @typedef {{ 'run.js': typeof import('./run.ts'), 'nats-server.js': typeof import('./nats-server.ts'),
 * 'reloader.js': typeof import('./reloader.ts'), 'doctor/examination.js': typeof import('./doctor/examination.ts') }} Programs
 */

// A step with nothing to do takes less than this; `npm run setup` does not show it.
const QUIET_MS = 500;
const DEMO = '--demo';

/**
 * Entry point of `npm start`: brings packages and build up to date, and runs the service in this process.
 * @param {Env} env
 * @param {readonly string[]} args `--demo` or nothing
 */
export async function start(env, args) {
  // The terminal may close before this process ends; the parts must be drained all the same.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  await orExplain(async () => {
    const unknown = args.find((arg) => arg !== DEMO);
    if (unknown !== undefined)
      throw new Problem(`${unknown} is not an option of npm start. The only one is ${DEMO}.`);
    const terminal = createTerminal(process.stdout, { color: wantsColor(process.stdout, env) });
    terminal.line('footfall');
    await terminal.step('node', () => process.versions.node);
    await prepare(terminal);
    const { run } = await load('run.js');
    await run({ env, withDemo: args.includes(DEMO), terminal });
  });
}

/**
 * Entry point of `npm run setup`: packages, build and nats-server. Prints nothing when there is nothing to do.
 * @param {Env} env
 */
export async function setUp(env) {
  const terminal = quietTerminal(
    createTerminal(process.stdout, { color: wantsColor(process.stdout, env) }),
    QUIET_MS,
  );
  await orExplain(async () => {
    await prepare(terminal);
    await (await load('nats-server.js')).setUpNatsServer(env, terminal);
  });
}

/**
 * Entry point of `npm run dev`. What it starts brings packages and build up to date by itself, and shows why it cannot.
 * @param {readonly string[]} args for `npm start`
 */
export async function develop(args) {
  await orExplain(async () => {
    const terminal = createTerminal(process.stdout, { color: false });
    if (!existsSync(pathOf('reloader.js'))) await prepare(quietTerminal(terminal, QUIET_MS));
    await (await load('reloader.js')).reload(args);
  });
}

/**
 * Brings packages and dist/ up to date.
 * @param {Terminal} terminal
 */
export async function prepare(terminal) {
  await terminal.step('packages', (note) =>
    unlessCurrent({
      isCurrent: () => packagesAreCurrent(projectRoot),
      update: () => installPackages(projectRoot, note),
      done: 'installed',
      note,
    }),
  );
  checkHttpLibrary(projectRoot);
  await terminal.step('build', (note) =>
    unlessCurrent({
      isCurrent: () => buildIsCurrent(projectRoot),
      update: () => build(projectRoot),
      done: 'built',
      note,
    }),
  );
}

/** True if packages and dist/ are up to date. */
export function isPrepared() {
  return packagesAreCurrent(projectRoot) && buildIsCurrent(projectRoot);
}

/**
 * Loads a program of the launcher into this process.
 * @template {keyof Programs} Name
 * @param {Name} name
 * @returns {Promise<Programs[Name]>}
 */
export function load(name) {
  return import(pathToFileURL(pathOf(name)).href);
}

/** @param {keyof Programs} name */
function pathOf(name) {
  return join(projectRoot, 'dist/infra/launch', name);
}

/**
 * Lets only one process at a time change node_modules or dist/. A process that had to wait checks again before it does the same work.
 * @param {{ isCurrent: () => boolean, update: () => Promise<void>, done: string, note: (text: string) => void }} task
 */
async function unlessCurrent({ isCurrent, update, done, note }) {
  if (isCurrent()) return 'up to date';
  const lock = await waitForLock(join(projectRoot, '.cache/setup.lock'), (pid) => {
    note(`waiting for process ${pid}`);
  });
  try {
    if (isCurrent()) return 'up to date';
    await update();
    return done;
  } finally {
    lock.release();
  }
}
