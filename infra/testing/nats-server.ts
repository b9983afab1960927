import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { natsConfig } from '../launch/bus-config.ts';
import { ensureNatsServer } from '../launch/nats-server.ts';
import { freePort, greetsAsNats } from '../launch/ports.ts';

/** A real nats-server for one test file: JetStream on files, on loopback, without a login. */
export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** The id of the present process, which changes with `restart`. */
  readonly pid: number;
  readonly version: string;
  /** Its latest output, at most some thousand characters. */
  readonly output: string;
  /** Sends SIGKILL; unwritten data is lost. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** Freezes the process, like a long pause of its machine; resolves once it is frozen. `resume` continues it. */
  pause(): Promise<void>;
  resume(): void;
  /** Restarts it on the same port and folder, stopping it first if it runs. Resolves when it answers. */
  restart(): Promise<void>;
  /** Stops it and deletes the folder, unless the folder was given. */
  stop(): Promise<void>;
}

const READY_MAX_MS = 30_000;
const FREEZE_MAX_MS = 5_000;
/** Characters of a server's latest output that are kept. */
const OUTPUT_KEPT = 8_000;
const FILE_BYTES_MAX = 64 * 1024 ** 3;

interface NatsServerOptions {
  readonly dataDir?: string;
  readonly port?: number;
  readonly fileBytesMax?: number;
  /** The file for its log, instead of its standard error. */
  readonly logFile?: string;
  /** More lines of its config file; they override lines that they repeat. */
  readonly config?: string;
}

/** Starts the same nats-server as `npm start`, with the same sync setting. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await ensureNatsServer({ ...process.env, NATS_URL: '' });
  const port = options.port ?? (await freePort('127.0.0.1'));
  const folder = options.dataDir ?? mkdtempSync(join(tmpdir(), 'footfall-nats-'));
  const configPath = join(folder, 'nats.conf');
  const fileBytesMax = options.fileBytesMax ?? FILE_BYTES_MAX;
  const config =
    natsConfig({ port, storeDir: folder, login: undefined, fileBytesMax }) + (options.config ?? '');
  const { logFile } = options;
  const log = logFile === undefined ? '' : `log_file: ${JSON.stringify(logFile)}`;
  writeFileSync(configPath, `${config}\n${log}\n`);
  // The server listens to the others after it has begun to greet clients, and ends itself if it cannot.
  const lines = [
    'Server is ready',
    ...(config.includes('cluster {') ? ['Listening for route connections'] : []),
  ];
  const start = () => launch(server.path, configPath, { port, lines, logFile });
  let running = await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    get pid() {
      return running.child.pid ?? 0;
    },
    version: server.version,
    get output() {
      return running.output();
    },
    kill: () => end(running.child, 'SIGKILL'),
    pause: () => freeze(running.child),
    resume: () => void running.child.kill('SIGCONT'),
    restart: async () => {
      await end(running.child, 'SIGTERM');
      running = await start();
    },
    stop: async () => {
      await end(running.child, 'SIGTERM');
      if (options.dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface ServerStart {
  readonly port: number;
  readonly lines: readonly string[];
  readonly logFile: string | undefined;
}

/** Resolves once the server has written all of `lines` and greets at its port. */
async function launch(
  path: string,
  configPath: string,
  { port, lines, logFile }: ServerStart,
): Promise<{ readonly child: ChildProcess; output(): string }> {
  const before = logFile !== undefined && existsSync(logFile) ? readFileSync(logFile).length : 0;
  const child = spawn(path, ['-c', configPath], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-OUTPUT_KEPT);
  });
  const output = () =>
    logFile !== undefined && existsSync(logFile)
      ? readFileSync(logFile).subarray(before).toString('utf8')
      : errors;
  let missing = lines;
  // A test process that exits early must not leave its server running.
  const killOnExit = () => void child.kill('SIGKILL');
  process.once('exit', killOnExit);
  child.once('exit', () => process.off('exit', killOnExit));
  const deadlineMs = Date.now() + READY_MAX_MS;
  for (;;) {
    const written = output();
    missing = missing.filter((line) => !written.includes(line));
    if (missing.length === 0 && (await greetsAsNats('127.0.0.1', port, 1_000))) break;
    if (!isRunning(child) || Date.now() > deadlineMs) {
      child.kill('SIGKILL');
      throw new Error(`nats-server did not start:\n${output().slice(-OUTPUT_KEPT)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { child, output };
}

/** Stops the process; a frozen one is resumed, because it could not react otherwise. */
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (!isRunning(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  child.kill('SIGCONT');
  await exited;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** A signal arrives some time after it was sent, thread by thread: until the last of them stops, the server answers. */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  const deadlineMs = performance.now() + FREEZE_MAX_MS;
  const threads = `/proc/${child.pid}/task`;
  // The state follows the name, which is in brackets.
  const isStopped = (thread: string) => /\) [Tt] /.test(readFileSync(join(threads, thread, 'stat'), 'utf8'));
  while (!readdirSync(threads).every(isStopped)) {
    if (performance.now() > deadlineMs) throw new Error('nats-server does not stop');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
