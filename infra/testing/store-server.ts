import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectRoot } from '../root.ts';

const PROGRAM = join(projectRoot, 'dist/infra/store-server/main.js');
const READY_MAX_MS = 60_000;

export interface StoreServerOptions {
  readonly dataDir: string;
  readonly port?: number;
  readonly password?: string;
  /** Password of the user `query`, which can only read; without a password there is no such user. */
  readonly queryPassword?: string;
  readonly memoryMaxBytes?: number;
}

/** An embedded store for one test file, in its own process. */
export interface StoreServer {
  /** Without user and password. */
  readonly url: string;
  /** The id of the present process, which changes with `restart`. */
  readonly pid: number;
  /** True if the present process has ended, by itself or killed. */
  readonly hasEnded: boolean;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** Restarts it on the same port and folder, stopping it first if it runs. Resolves when it answers. */
  restart(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number>;
}

/** Thrown for a start that failed, with the exit code and the output. */
export class StoreStartError extends Error {
  override readonly name = 'StoreStartError';
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(exitCode: number | null, stderr: string) {
    super(`the store server ended with ${exitCode}: ${stderr}`);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** Starts the built store server; throws a `StoreStartError` when it exits before it is ready. */
export async function startStoreServer(options: StoreServerOptions): Promise<StoreServer> {
  let running = await launch(options, options.port ?? 0);
  const port = Number(new URL(running.url).port);
  const { url } = running;
  return {
    url,
    get pid() {
      return running.child.pid ?? 0;
    },
    get hasEnded() {
      return hasEnded(running.child);
    },
    kill: async () => {
      await end(running.child, 'SIGKILL');
    },
    restart: async () => {
      await end(running.child, 'SIGTERM');
      running = await launch(options, port);
    },
    stop: () => end(running.child, 'SIGTERM'),
  };
}

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

function launch(options: StoreServerOptions, port: number): Promise<Running> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: {
      ...process.env,
      DATA_DIR: options.dataDir,
      STORE_PORT: String(port),
      STORE_PASSWORD: options.password ?? '',
      STORE_QUERY_PASSWORD: options.queryPassword ?? '',
      STORE_MEMORY_MAX_BYTES: String(options.memoryMaxBytes ?? 2_147_483_648),
      LOG_LEVEL: 'warn',
      // Must be set before the server's code runs; otherwise the server starts itself a second time.
      UV_THREADPOOL_SIZE: '32',
      EXIT_WITH_STDIN: '1',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let stderr = '';
    child.stderr.on('data', (bytes: Buffer) => {
      stderr = (stderr + bytes.toString()).slice(-10_000);
    });
    const deadline = setTimeout(() => child.kill('SIGKILL'), READY_MAX_MS);
    child.once('close', (code) => {
      clearTimeout(deadline);
      reject(new StoreStartError(code, stderr));
    });
    createInterface(child.stdout).on('line', (line) => {
      if (!line.startsWith('ready ')) return;
      clearTimeout(deadline);
      resolve({ child, url: (JSON.parse(line.slice('ready '.length)) as { url: string }).url });
    });
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  if (child.signalCode !== null) return -1;
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? -1));
    child.kill(signal);
  });
}
