import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { busFileBytesMax, natsConfig } from './bus-config.mjs';
import { freePort, greetsAsNats } from './ports.mjs';
import { projectRoot } from './root.mjs';
import { writeWhole } from './write-whole.mjs';

/** @typedef {import('./child.mjs').ChildPlan} ChildPlan */
/** @typedef {import('./settings.mjs').LaunchSettings} LaunchSettings */
/** @typedef {import('./data-folder.mjs').Secrets} Secrets */

const LOOPBACK = '127.0.0.1';
/**
 * libuv threads of the store, one per running statement. They cannot be changed from inside the process, so the store
 * would otherwise have to start itself a second time. A test checks that this number is high enough.
 */
export const STORE_THREADS = 16;

/**
 * Writes the config file of the bus and returns how to start the bus and its URL.
 * @param {{ settings: LaunchSettings, secrets: Secrets, earlierStreams: number, server:
 * import('./nats-version.mjs').NatsServer, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ plan: ChildPlan, url: string }>}
 */
export async function planBus({ settings, secrets, earlierStreams, server, env }) {
  const folder = join(settings.dataDir, 'bus');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const port = await freePort(LOOPBACK);
  const config = natsConfig({
    port,
    storeDir: folder,
    login: { user: secrets.busUser, password: secrets.busPassword },
    fileBytesMax: busFileBytesMax(1 + earlierStreams, settings.busBytesMax),
  });
  const configPath = join(folder, 'nats.conf');
  writeWhole(configPath, config);
  const plan = {
    command: server.path,
    args: ['-c', configPath],
    env,
    cwd: folder,
    probe: (/** @type {() => boolean} */ isGone) => untilGreeted(port, isGone),
  };
  const url = `nats://${secrets.busUser}:${secrets.busPassword}@${LOOPBACK}:${port}`;
  writeWhole(join(folder, 'url'), url); // For programs that are run beside the service.
  return { plan, url };
}

/**
 * How to start the embedded store, its URL, and its URL for the user that can only read. That user's password is new at
 * every start, because nothing else needs it.
 * @param {{ settings: LaunchSettings, secrets: Secrets, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ plan: ChildPlan, url: string, queryUrl: string }>}
 */
export async function planStore({ settings, secrets, env }) {
  const port = settings.storePort === 0 ? await freePort(LOOPBACK) : settings.storePort;
  const queryPassword = randomBytes(24).toString('hex');
  const own = {
    STORE_PASSWORD: secrets.storePassword,
    STORE_QUERY_PASSWORD: queryPassword,
    STORE_PORT: String(port),
    UV_THREADPOOL_SIZE: String(STORE_THREADS),
  };
  return {
    plan: planProgram(['dist/infra/store-server/main.js'], { ...env, ...own }),
    url: `http://default:${secrets.storePassword}@${LOOPBACK}:${port}`,
    queryUrl: `http://query:${queryPassword}@${LOOPBACK}:${port}`,
  };
}

/**
 * How to start one of our programs from dist/.
 * @param {readonly [string, ...string[]]} command path in the project, and arguments
 * @param {NodeJS.ProcessEnv} env
 * @returns {ChildPlan}
 */
export function planProgram([path, ...args], env) {
  return {
    command: process.execPath,
    args: ['--enable-source-maps', join(projectRoot, path), ...args],
    env: { ...env, EXIT_WITH_STDIN: '1' },
    cwd: projectRoot,
    probe: undefined,
  };
}

/**
 * @param {number} port
 * @param {() => boolean} isGone
 * @returns {Promise<Record<string, unknown>>}
 */
async function untilGreeted(port, isGone) {
  while (!isGone()) {
    if (await greetsAsNats(LOOPBACK, port, 1_000)) return { port };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {};
}
