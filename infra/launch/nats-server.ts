import { accessSync, constants, mkdirSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from '../root.ts';
import { launchEnvironment } from './launch-settings.ts';
import { waitForLock } from './lock.mjs';
import { natsFromPackage } from './nats-package.ts';
import { natsFromRelease } from './nats-release.ts';
import { type NatsServer, probeNatsServer } from './nats-version.ts';
import { orExplain, Problem } from './problem.mjs';
import type { Terminal } from './terminal.mjs';

const WHAT_TO_DO =
  'Install nats-server 2.10 or newer, set NATS_SERVER to its path, or set NATS_URL to a running server.';

/** The last step of `npm run setup`. */
export async function setUpNatsServer(env: NodeJS.ProcessEnv, terminal: Terminal): Promise<void> {
  await orExplain(async () => {
    await findNatsServer(launchEnvironment(env).env, terminal);
  });
}

/** The step of a start that finds nats-server. Returns undefined when an external bus is used. */
export async function findNatsServer(
  env: NodeJS.ProcessEnv,
  terminal: Terminal,
): Promise<NatsServer | undefined> {
  let found: NatsServer | undefined;
  await terminal.step('nats-server', async (note) => {
    if ((env.NATS_URL ?? '') !== '') return 'not needed: NATS_URL is set';
    found = await ensureNatsServer(env, note);
    return `${found.version} ${found.from}`;
  });
  return found;
}

/**
 * Finds a nats-server of version 2.10 or newer: from NATS_SERVER, the cache, PATH, the official release or a package of
 * the distribution, in this order. A download stays in `.cache/`, so the next call is fast. Calls `note` with the current step.
 */
export async function ensureNatsServer(
  env: NodeJS.ProcessEnv,
  note: (text: string) => void = () => {},
): Promise<NatsServer> {
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

/** A nats-server that needs no download. */
export async function knownNatsServer(
  env: NodeJS.ProcessEnv,
  cache: string,
): Promise<NatsServer | undefined> {
  const named = env.NATS_SERVER ?? '';
  if (named === '') return (await firstCached(cache)) ?? (await onPath(env));
  const server = await probeNatsServer(named, 'from NATS_SERVER');
  if (server !== undefined) return server;
  throw new Problem(`NATS_SERVER: ${named} is not a working nats-server 2.10 or newer. ${WHAT_TO_DO}`);
}

async function obtainNatsServer(cache: string, note: (text: string) => void): Promise<NatsServer> {
  mkdirSync(cache, { recursive: true });
  const failures: string[] = [];
  const server =
    (await natsFromRelease(cache, note, failures)) ?? (await natsFromPackage(cache, note, failures));
  if (server !== undefined) return server;
  const detail = failures.map((failure) => `  ${failure}`).join('\n');
  throw new Problem(`nats-server is not installed and could not be downloaded. ${WHAT_TO_DO}`, detail);
}

/** A working one from the cache. */
async function firstCached(cache: string): Promise<NatsServer | undefined> {
  for (const folder of listFolder(cache).filter((name) => /^nats-server-\d/.test(name))) {
    const server = await probeNatsServer(join(cache, folder, 'nats-server'), 'from .cache');
    if (server !== undefined) return server;
  }
  return undefined;
}

async function onPath(env: NodeJS.ProcessEnv): Promise<NatsServer | undefined> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'nats-server');
    if (folder !== '' && isExecutable(path)) return probeNatsServer(path, `from ${folder}`);
  }
  return undefined;
}

function isExecutable(path: string) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function listFolder(folder: string) {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No cache yet.
  }
}
