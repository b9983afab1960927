import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bus } from '../../../bus/bus.ts';
import { freePorts } from '../../../launch/ports.ts';
import { createLogger } from '../../../log.ts';
import { type BusWithUsers, isMatch, startBusWithUsers } from '../../../testing/bus-with-users.ts';
import { type Program, runProgram, startProgram } from '../../../testing/program.ts';
import { type S3Server, startS3 } from '../../../testing/s3-server.ts';
import { type StoreServer, startStoreServer } from '../../../testing/store-server.ts';

const HOST = 'dist/infra/process/host.js';
const PROCESSOR = 'dist/processor/main.js';
const ADMIN = 'dist/query/manage/admin/admin.js';

/** The processes that run all the time: the user of each, and its program. */
const TIERS = {
  collector: ['collector', HOST, 'ingest'],
  query: ['query', HOST, 'query'],
  web: ['web', HOST, 'ingest', 'query'],
  'processor-1': ['processor', PROCESSOR],
  'processor-2': ['processor', PROCESSOR],
} as const;
export type TierName = keyof typeof TIERS;
const PROCESSORS = ['processor-1', 'processor-2'] as const;

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0';

export interface Secret {
  readonly id: string;
  readonly secret: string;
}

interface TierRequest {
  readonly method?: string;
  readonly body?: unknown;
  /** Another one is another visitor. */
  readonly agent?: string;
}

/** Every tier as a process, with the user of its own on a bus of one or three servers, and the embedded store. */
export class RunningTiers {
  readonly bus: BusWithUsers;
  readonly bucket: S3Server;
  readonly folder: string;
  readonly #store: StoreServer;
  readonly #copies: string;
  readonly #programs = new Map<TierName, Program>();
  readonly #ports = new Map<TierName, number>();

  private constructor(
    folder: string,
    bus: BusWithUsers,
    store: StoreServer,
    bucket: S3Server,
    copies: string,
  ) {
    this.folder = folder;
    this.bus = bus;
    this.bucket = bucket;
    this.#store = store;
    this.#copies = copies;
  }

  /** Starts all together on an empty bus: the first of them makes streams and buckets that it needs. */
  static async start(servers: 1 | 3): Promise<RunningTiers> {
    const folder = mkdtempSync(join(tmpdir(), 'footfall-users-'));
    const [bus, store, bucket] = await Promise.all([
      startBusWithUsers(servers),
      startStoreServer({ dataDir: join(folder, 'store'), password: 'all', queryPassword: 'some' }),
      startS3({ buckets: ['events'] }),
    ]);
    const tiers = new RunningTiers(folder, bus, store, bucket, String(servers));
    const names = Object.keys(TIERS) as TierName[];
    try {
      await Promise.all(names.map((name) => tiers.startTier(name)));
    } catch (error) {
      await tiers.stop(); // No caller could.
      throw error;
    }
    return tiers;
  }

  async startTier(name: TierName): Promise<void> {
    const [user, program, ...rooms] = TIERS[name];
    const [port = 0] = await freePorts('127.0.0.1', 1);
    const address = user === 'processor' ? { METRICS_PORT: String(port) } : { PORT: String(port) };
    const env = { ...this.#envOf(user), ...address, INSTANCE: name, WORKERS: '1' };
    this.#programs.set(name, await startProgram([program, ...rooms], env));
    this.#ports.set(name, port);
  }

  /** Ends a tier, with its exit code. */
  async end(name: TierName, signal: NodeJS.Signals): Promise<number | null> {
    return (await this.#programs.get(name)?.end(signal)) ?? null;
  }

  urlOf(name: TierName): string {
    return `http://127.0.0.1:${this.#ports.get(name)}`;
  }

  async ask(tier: TierName, { id, secret }: Secret, path: string, { method, body, agent }: TierRequest = {}) {
    const answer = await fetch(this.urlOf(tier) + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        'service-client-id': id,
        'service-client-secret': secret,
        'content-type': 'application/json',
        'user-agent': `${BROWSER} ${agent ?? 'Safari/537.36'}`,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const parsed: unknown = /^[[{]/.test(text) ? JSON.parse(text) : undefined;
    return { status: answer.status, text, body: parsed };
  }

  /** Runs `npm run admin` and returns its output. */
  admin(...args: string[]): Promise<string> {
    return this.run(ADMIN, ...args);
  }

  /** Runs a program of the operator and returns its output. */
  run(...command: string[]): Promise<string> {
    return runProgram(command, this.#envOf('admin'));
  }

  connect(user: string): Promise<Bus> {
    const options = { url: this.bus.urlOf(user), name: 'test', replicas: Number(this.#copies) };
    return Bus.connect(options, createLogger('test', 'silent'));
  }

  /** True if a user has published on a subject that the pattern matches. */
  hasPublished(user: string, pattern: string): boolean {
    return this.bus.acts().some((act) => act.user === user && isMatch(act.subject, pattern));
  }

  /** The processor that owns the lane; undefined while none does. */
  async owner(): Promise<TierName | undefined> {
    for (const name of PROCESSORS) {
      const metrics = await fetch(`${this.urlOf(name)}/metrics`).then(
        (answer) => answer.text(),
        () => '',
      );
      if (/^footfall_processor_lane_owned\S* 1$/m.test(metrics)) return name;
    }
    return undefined;
  }

  async stop(): Promise<void> {
    for (const program of this.#programs.values()) await program.end('SIGKILL');
    await this.bucket.stop();
    await this.#store.stop();
    await this.bus.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * A collector has no login of the store, and neither it nor the programs of an operator have the key of customers' secrets. Among these
   * programs, a full backup reads the store.
   */
  #envOf(user: string): Record<string, string> {
    const common = {
      NATS_URL: this.bus.urlOf(user),
      BUS_REPLICAS: this.#copies,
      BUS_BYTES_MAX: String(1024 ** 3),
      DATA_DIR: join(this.folder, user),
      LOG_LEVEL: 'error',
      TRACK_LIMIT_PER_10_S: '1000',
    };
    if (user === 'collector') return common;
    const storeUrl = (login: string) => this.#store.url.replace('http://', `http://${login}@`);
    if (user === 'admin') return { ...common, CLICKHOUSE_URL: storeUrl('default:all') };
    return {
      ...common,
      CLICKHOUSE_URL: storeUrl('default:all'),
      CLICKHOUSE_QUERY_URL: storeUrl('query:some'),
      SECRETS_KEY: 'ab'.repeat(32),
      ENDPOINTS_ALLOWED: '127.0.0.0/8',
      // Nothing answers there, which is noted in the record of the connection.
      GOOGLE_API_URL: 'http://127.0.0.1:9',
      MANAGE_LIMIT_PER_10_S: '1000',
      DELIVERY_INTERVAL_MS: '1000',
      ROLLUP_INTERVAL_MS: '1000',
    };
  }
}
