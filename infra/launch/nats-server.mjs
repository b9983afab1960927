import { accessSync, constants, mkdirSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { waitForLock } from './lock.mjs';
import { natsFromPackage } from './nats-package.mjs';
import { natsFromRelease } from './nats-release.mjs';
import { probeNatsServer } from './nats-version.mjs';
import { Problem } from './problem.mjs';
import { projectRoot } from './root.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */
/** @typedef {Readonly<Record<string, string | undefined>>} Env */

const WHAT_TO_DO =
  'Install nats-server 2.10 or newer, set NATS_SERVER to its path, or set NATS_URL to a running server.';

/**
 * Finds a nats-server of version 2.10 or newer: from NATS_SERVER, the cache, PATH, the official release or a package of
 * the distribution, in this order. A download stays in `.cache/`, so the next call is fast.
 * @param {Env} env
 * @param {(text: string) => void} [note] called with the current step
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
    return (await knownNatsServer(env, cache)) ?? (await obtainNatsServer(cache, note));
  } finally {
    lock.release();
  }
}

/**
 * A nats-server that needs no download.
 * @param {Env} env
 * @param {string} cache
 * @returns {Promise<NatsServer | undefined>}
 */
export async function knownNatsServer(env, cache) {
  const named = env.NATS_SERVER ?? '';
  if (named === '') return (await firstCached(cache)) ?? (await onPath(env));
  const server = await probeNatsServer(named, 'from NATS_SERVER');
  if (server !== undefined) return server;
  throw new Problem(`NATS_SERVER: ${named} is not a working nats-server 2.10 or newer. ${WHAT_TO_DO}`);
}

/**
 * @param {string} cache
 * @param {(text: string) => void} note
 * @returns {Promise<NatsServer>}
 */
async function obtainNatsServer(cache, note) {
  mkdirSync(cache, { recursive: true });
  /** @type {string[]} */
  const failures = [];
  const server =
    (await natsFromRelease(cache, note, failures)) ?? (await natsFromPackage(cache, note, failures));
  if (server !== undefined) return server;
  const detail = failures.map((failure) => `  ${failure}`).join('\n');
  throw new Problem(`nats-server is not installed and could not be downloaded. ${WHAT_TO_DO}`, detail);
}

/**
 * @param {string} cache
 * @returns {Promise<NatsServer | undefined>} a working one from the cache
 */
async function firstCached(cache) {
  for (const folder of listFolder(cache).filter((name) => /^nats-server-\d/.test(name))) {
    const server = await probeNatsServer(join(cache, folder, 'nats-server'), 'from .cache');
    if (server !== undefined) return server;
  }
  return undefined;
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
