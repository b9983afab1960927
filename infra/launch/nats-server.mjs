import { accessSync, constants, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { waitForLock } from './lock.mjs';
import { natsFromPackage } from './nats-package.mjs';
import { natsFromRelease } from './nats-release.mjs';
import { canSyncAlways, isAtLeast, probeNatsServer } from './nats-version.mjs';
import { Problem } from './problem.mjs';
import { projectRoot } from './root.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */
/** @typedef {Readonly<Record<string, string | undefined>>} Env */

const WHAT_TO_DO =
  'Install nats-server 2.10 or newer, or set NATS_SERVER to its path, or NATS_URL to a running one.';

/**
 * The nats-server to run, in this order: NATS_SERVER, our cache, PATH from 2.10 on, the official release, the
 * distribution's package, PATH with 2.9. What had to be fetched is kept in `.cache/`, so this is quick the next time.
 * @param {Env} env
 * @param {(text: string) => void} [note] told what is under way
 * @returns {Promise<NatsServer>}
 */
export async function ensureNatsServer(env, note = () => {}) {
  const cache = join(projectRoot, '.cache');
  const known = await knownNatsServer(env, cache);
  if (known !== undefined) return known;
  const lock = await waitForLock(join(cache, 'nats-server.lock'), (pid) =>
    note(`waiting for process ${pid}`),
  );
  try {
    return (await knownNatsServer(env, cache)) ?? (await obtainNatsServer(env, cache, note));
  } finally {
    lock.release();
  }
}

/**
 * One that needs no fetching; undefined when there is none that is good enough to stop looking.
 * @param {Env} env
 * @param {string} cache
 * @returns {Promise<NatsServer | undefined>}
 */
export async function knownNatsServer(env, cache) {
  const named = env.NATS_SERVER ?? '';
  if (named !== '') {
    const server = await probeNatsServer(named, 'from NATS_SERVER');
    if (server !== undefined) return server;
    throw new Problem(
      `NATS_SERVER: ${named} is not a nats-server (2.9 or newer) that runs here. ${WHAT_TO_DO}`,
    );
  }
  const cached = await bestCached(cache);
  if (cached !== undefined && canSyncAlways(cached.version)) return cached;
  const installed = await onPath(env);
  if (installed !== undefined && canSyncAlways(installed.version)) return installed;
  // A 2.9 in the cache means that everything better was tried; without it, 2.9 on the PATH has to wait its turn.
  return cached;
}

/**
 * @param {Env} env
 * @param {string} cache
 * @param {(text: string) => void} note
 * @returns {Promise<NatsServer>}
 */
async function obtainNatsServer(env, cache, note) {
  mkdirSync(cache, { recursive: true });
  /** @type {string[]} */
  const failures = [];
  const release = await natsFromRelease(cache, note, failures);
  if (release !== undefined) return release;
  const nextPackage = await natsFromPackage('next', cache, note, failures);
  if (nextPackage !== undefined) return nextPackage;
  const installed = await onPath(env);
  if (installed !== undefined) return remember(installed, cache);
  const ownPackage = await natsFromPackage('own', cache, note, failures);
  if (ownPackage !== undefined) return ownPackage;
  const detail = failures.map((failure) => `  ${failure}`).join('\n');
  throw new Problem(`No nats-server to be had on this machine. ${WHAT_TO_DO}`, detail);
}

/**
 * Links an installed 2.9 into the cache, so that the next start does not look for something better again.
 * @param {NatsServer} server
 * @param {string} cache
 */
function remember(server, cache) {
  const folder = join(cache, `nats-server-${server.version}-installed`);
  try {
    mkdirSync(folder, { recursive: true });
    symlinkSync(server.path, join(folder, 'nats-server'));
  } catch {
    // Only a shortcut: without it the next start looks again.
  }
  return server;
}

/**
 * @param {string} cache
 * @returns {Promise<NatsServer | undefined>} the newest in the cache that runs
 */
async function bestCached(cache) {
  const folders = listFolder(cache).filter((name) => /^nats-server-\d/.test(name));
  /** @type {NatsServer | undefined} */
  let best;
  for (const folder of folders) {
    const server = await probeNatsServer(join(cache, folder, 'nats-server'), 'from .cache');
    if (server === undefined) continue;
    if (best === undefined || isNewer(server.version, best.version)) best = server;
  }
  return best;
}

/**
 * @param {string} version
 * @param {string} other
 */
function isNewer(version, other) {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [otherMajor = 0, otherMinor = 0, otherPatch = 0] = other
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  if (major === otherMajor && minor === otherMinor) return patch > otherPatch;
  return isAtLeast(version, [otherMajor, otherMinor]);
}

/**
 * @param {Env} env
 * @returns {Promise<NatsServer | undefined>}
 */
async function onPath(env) {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'nats-server');
    if (folder !== '' && isExecutable(path)) return probeNatsServer(path, `from ${folder}`);
  }
  return undefined;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** @param {string} folder */
function listFolder(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No cache yet.
  }
}
