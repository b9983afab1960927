import { join } from 'node:path';
import { build, buildIsCurrent } from './build.mjs';
import { checkHttpLibrary } from './http-library.mjs';
import { waitForLock } from './lock.mjs';
import { ensureNatsServer } from './nats-server.mjs';
import { installPackages, packagesAreCurrent } from './packages.mjs';
import { explain } from './problem.mjs';
import { projectRoot } from './root.mjs';
import { createTerminal, quietTerminal, wantsColor } from './terminal.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */
/** @typedef {import('./terminal.mjs').Terminal} Terminal */
/** @typedef {Readonly<Record<string, string | undefined>>} Env */

// A step with nothing to do takes less than this; `npm run setup` does not show it.
const QUIET_MS = 500;

/**
 * Entry point of `npm run setup`.
 * @param {Env} env
 */
export async function setUp(env) {
  const terminal = createTerminal(process.stdout, { color: wantsColor(process.stdout, env) });
  try {
    await prepare(env, quietTerminal(terminal, QUIET_MS));
  } catch (error) {
    process.stderr.write(explain(error));
    process.exitCode = 1;
  }
}

/**
 * Brings packages, nats-server and dist/ up to date.
 * @param {Env} env
 * @param {Terminal} terminal
 * @returns {Promise<NatsServer | undefined>} undefined when an external bus is used
 */
export async function prepare(env, terminal) {
  /** @type {NatsServer | undefined} */
  let natsServer;
  await terminal.step('packages', (note) =>
    unlessCurrent({
      isCurrent: () => packagesAreCurrent(projectRoot),
      update: () => installPackages(projectRoot, note),
      done: 'installed',
      note,
    }),
  );
  checkHttpLibrary(projectRoot);
  await terminal.step('nats-server', async (note) => {
    if ((env.NATS_URL ?? '') !== '') return 'not needed: NATS_URL is set';
    natsServer = await ensureNatsServer(env, note);
    return `${natsServer.version} ${natsServer.from}`;
  });
  await terminal.step('build', (note) =>
    unlessCurrent({
      isCurrent: () => buildIsCurrent(projectRoot),
      update: () => build(projectRoot),
      done: 'built',
      note,
    }),
  );
  return natsServer;
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
