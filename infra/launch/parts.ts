import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { projectRoot } from '../root.ts';
import { busFileBytesMax, natsConfig } from './bus-config.ts';
import type { ChildPlan } from './child.ts';
import type { Secrets } from './data-folder.ts';
import type { NatsServer } from './nats-version.ts';
import { freePort, freePorts, greetsAsNats } from './ports.ts';
import { writeWhole } from './write-whole.ts';

const LOOPBACK = '127.0.0.1';
/** The setting that limits the heap of a program. */
const HEAP_SETTINGS = {
  http: 'HTTP_HEAP_MAX_MB',
  processor: 'PROCESSOR_HEAP_MAX_MB',
  store: 'STORE_HEAP_MAX_MB',
} as const;
/** Memory for new objects; node's default is 16, and it may use three times that. */
const SMALL_SEMI_SPACE_MB = 2;
const FEW_CORES_SEMI_SPACE_MB = 4;
/**
 * The engine's allocator by default has an arena for each core and keeps free pages for five seconds. In a flood of new visitors
 * that was 97 of 277 MB.
 */
const SMALL_STORE_MALLOC = 'percpu_arena:disabled,narenas:2,dirty_decay_ms:300';
/** From here on nats-server collects its garbage more eagerly. */
const SMALL_BUS_MEMORY = '40MiB';
/**
 * libuv threads of the store, one per running statement. They cannot be changed from inside the process, so the store
 * would otherwise have to start itself a second time. A test checks that this number is high enough.
 */
export const STORE_THREADS = 16;

/** Writes the config file of the bus and returns how to start the bus and its URL. */
export async function planBus({
  settings,
  secrets,
  server,
  env,
}: {
  settings: Config;
  secrets: Secrets;
  server: NatsServer;
  env: NodeJS.ProcessEnv;
}): Promise<{ plan: ChildPlan; url: string }> {
  const folder = join(settings.DATA_DIR, 'bus');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const port = await freePort(LOOPBACK);
  const config = natsConfig({
    port,
    storeDir: folder,
    login: { user: secrets.busUser, password: secrets.busPassword },
    fileBytesMax: busFileBytesMax(settings.BUS_BYTES_MAX),
  });
  const configPath = join(folder, 'nats.conf');
  writeWhole(configPath, config);
  const plan = {
    command: server.path,
    args: ['-c', configPath],
    env: settings.SMALL === 1 ? { GOMEMLIMIT: SMALL_BUS_MEMORY, GOGC: '50', ...env } : env,
    cwd: folder,
    probe: (isGone: () => boolean) => untilGreeted(port, isGone),
  };
  const url = `nats://${secrets.busUser}:${secrets.busPassword}@${LOOPBACK}:${port}`;
  writeWhole(join(folder, 'url'), url); // For programs that are run beside the service.
  return { plan, url };
}

/** The path of the file with the embedded store's URL and password, while that store is in use. */
export function storeUrlPath(dataDir: string): string {
  return join(dataDir, 'store-url');
}

/**
 * The plan to start the embedded store, its URL, and its URL for the user that can only read. That user's password is new at every start,
 * because nothing else needs it.
 */
export async function planStore({
  settings,
  secrets,
  env,
}: {
  settings: Config;
  secrets: Secrets;
  env: NodeJS.ProcessEnv;
}): Promise<{ plan: ChildPlan; url: string; queryUrl: string }> {
  const port = settings.STORE_PORT === 0 ? await freePort(LOOPBACK) : settings.STORE_PORT;
  const queryPassword = randomBytes(24).toString('hex');
  const url = `http://default:${secrets.storePassword}@${LOOPBACK}:${port}`;
  writeWhole(storeUrlPath(settings.DATA_DIR), url); // For programs that are run beside the service.
  const own = {
    STORE_PASSWORD: secrets.storePassword,
    STORE_QUERY_PASSWORD: queryPassword,
    STORE_PORT: String(port),
    UV_THREADPOOL_SIZE: String(STORE_THREADS),
  };
  return {
    plan: planProgram(['dist/infra/store-server/main.js'], {
      ...env,
      ...own,
      ...nodeEnv(settings, 'store', env),
    }),
    url,
    queryUrl: `http://query:${queryPassword}@${LOOPBACK}:${port}`,
  };
}

/**
 * Plans to start the processes that answer HTTP: one, called `http`, or a group of `http-1` and so on, with one port together, and `query-1`
 * and so on, with one port for questions. In a group each shows its metrics on a port of its own.
 */
export async function planHttp({
  settings,
  env: outer,
}: {
  settings: Config;
  env: NodeJS.ProcessEnv;
}): Promise<{ name: string; plan: ChildPlan }[]> {
  const { COLLECTORS: collectors, QUERIES: queries, QUERY_PORT: queryPort, HOST: host } = settings;
  const program = 'dist/infra/process/host.js';
  const env = { ...outer, ...nodeEnv(settings, 'http', outer) };
  if (collectors === 1 && queries === 0)
    return [
      { name: 'http', plan: planProgram([program, 'ingest', 'query'], { ...env, HTTP_PROCESSES: '' }) },
    ];
  const sharedQueryPort = queryPort === 0 && queries > 0 ? await freePort(host) : queryPort;
  const names = [...numbered('http', collectors), ...numbered('query', queries)];
  const ports = await freePorts(LOOPBACK, names.length);
  const HTTP_PROCESSES = names.map((name, index) => `${name}=${ports[index]}`).join(',');
  return names.map((name, index) => {
    const own = { ...env, HTTP_PROCESSES, METRICS_PORT: String(ports[index]) };
    const plan =
      index < collectors
        ? planProgram([program, 'ingest', 'query'], own)
        : planProgram([program, 'query'], { ...own, PORT: String(sharedQueryPort) });
    return { name, plan };
  });
}

function numbered(name: string, count: number) {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

/**
 * Flags of Node for our programs. On up to two cores, V8 compiles and collects garbage without threads of its own: its main thread would
 * wait for them at every collection, and they for a core, up to 30 ms beside questions. With more cores they run in parallel.
 */
export function engineFlags(cores: number): readonly string[] {
  return cores <= 2 ? ['--single-threaded'] : [];
}

/**
 * The room for new objects. On up to two cores it is smaller than by default, so most collections are short. Beside batches of 2,000
 * events, 16 collections took more than 15 ms in 40 s, and 66 with the default, and the service took a tenth more events.
 */
export function youngSpaceFlags(isSmall: boolean, cores: number): readonly string[] {
  if (!isSmall && engineFlags(cores).length === 0) return [];
  return [`--max-semi-space-size=${isSmall ? SMALL_SEMI_SPACE_MB : FEW_CORES_SEMI_SPACE_MB}`];
}

/** The plan to start one of our programs from dist/: its path in the project, and its arguments. */
export function planProgram(
  [path, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): ChildPlan {
  return {
    command: process.execPath,
    args: [...engineFlags(availableParallelism()), '--enable-source-maps', join(projectRoot, path), ...args],
    env: { ...env, EXIT_WITH_STDIN: '1' },
    cwd: projectRoot,
    probe: undefined,
  };
}

/** The variables that limit the memory of one of our programs. The operator's options come last, so that they win. */
export function nodeEnv(
  settings: Pick<Config, 'SMALL' | (typeof HEAP_SETTINGS)[keyof typeof HEAP_SETTINGS]>,
  part: keyof typeof HEAP_SETTINGS,
  env: NodeJS.ProcessEnv,
  cores: number = availableParallelism(),
): NodeJS.ProcessEnv {
  const isSmall = settings.SMALL === 1;
  const options = [
    `--max-old-space-size=${settings[HEAP_SETTINGS[part]]}`,
    ...youngSpaceFlags(isSmall, cores),
    env.NODE_OPTIONS ?? '',
  ];
  return {
    NODE_OPTIONS: options.join(' ').trim(),
    ...(isSmall ? { MALLOC_ARENA_MAX: '2' } : {}),
    ...(isSmall && part === 'store' ? { JE_MALLOC_CONF: SMALL_STORE_MALLOC } : {}),
  };
}

async function untilGreeted(port: number, isGone: () => boolean): Promise<Record<string, unknown>> {
  while (!isGone()) {
    if (await greetsAsNats(LOOPBACK, port, 1_000)) return { port };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {};
}
