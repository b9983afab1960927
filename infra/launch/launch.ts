import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { isExposed } from '../network/exposure.ts';
import { type Child, type ChildPlan, startChild } from './child.ts';
import type { Secrets } from './data-folder.ts';
import { Disk } from './disk.ts';
import { firstStartLines, laterStartLines } from './first-lines.ts';
import { type FirstStart, runFirstStart } from './first-start.ts';
import { openLogFile } from './log-file.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import type { NatsServer } from './nats-version.ts';
import { askOutsideStore, checkOutsideBus } from './outside.ts';
import { Part } from './part.ts';
import { nodeEnv, planBus, planHttp, planProgram, planStore, storeUrlPath } from './parts.ts';
import { Problem } from './problem.mjs';
import { createRunRecord, RUN_VARIABLE, type RunRecord } from './run-record.ts';
import { formatDuration, type Terminal } from './terminal.mjs';
import { writeWhole } from './write-whole.ts';

export interface LaunchOptions {
  /** With the final port. */
  readonly settings: Config;
  readonly secrets: Secrets;
  /** Undefined when an external bus is used. */
  readonly server: NatsServer | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Sends made-up traffic and shows what comes of it. */
  readonly withDemo: boolean;
  readonly terminal: Terminal;
}

/** The time of a part to end by itself, beside DRAIN_WAIT_MS. */
const DRAIN_MAX_MS = 20_000;

/** One run of the whole service. Its parts are started in order and drained in reverse order. */
export class Launch {
  readonly #options: LaunchOptions;
  readonly #record: RunRecord;
  readonly #logLines: LogLines;
  readonly #disk: Disk;
  /** In the order of their start. The parts of one stage are started and drained together. */
  #stages: Part[][] = [];
  #demo: Child | undefined;
  #isStopping = false;
  #stopFirstStart = () => {};
  #giveUp: (problem: Error) => void = () => {};

  /** Rejects when a part cannot be restarted any more. */
  givenUp: Promise<never> = new Promise((_resolve, reject) => {
    this.#giveUp = reject;
  });

  constructor(options: LaunchOptions) {
    this.#options = options;
    this.#record = createRunRecord(options.settings.DATA_DIR);
    this.#logLines = createLogLines(options.terminal.part, Date.now);
    this.#disk = new Disk({
      folder: options.settings.DATA_DIR,
      freeMinBytes: options.settings.DISK_FREE_MIN_BYTES,
      say: (text) => options.terminal.part('disk', text),
      onFreed: () => this.#repairBus(),
    });
    this.givenUp.catch(() => {}); // It is awaited only after the start.
  }

  /** Starts every part in order and prints the last lines. Stops early, without an error, when a drain begins. */
  async start(): Promise<void> {
    const { settings, secrets, env, terminal } = this.#options;
    const base = {
      ...env,
      [RUN_VARIABLE]: this.#record.id,
      DATA_DIR: settings.DATA_DIR,
      PORT: String(settings.PORT),
      INSTANCE: env.INSTANCE || secrets.instance,
    };
    const NATS_URL = await this.#startBus(base);
    const store = await this.#startStore(base);
    const full = { ...base, NATS_URL, CLICKHOUSE_URL: store.url, CLICKHOUSE_QUERY_URL: store.queryUrl };
    const own = {
      SECRETS_KEY: settings.SECRETS_KEY || secrets.secretsKey,
      OPERATIONS_TOKEN: settings.OPERATIONS_TOKEN || (isExposed(settings) ? secrets.operationsToken : ''),
    };
    const first = await this.#ensureAccount(full);
    await this.#startPart(
      'processor',
      planProgram(['dist/processor/main.js'], { ...full, ...own, ...nodeEnv(settings, 'processor', full) }),
      () => 'ready',
    );
    const httpUrl = await this.#startHttp({ ...full, ...own });
    if (this.#isStopping || first === undefined || httpUrl === undefined) return;
    const url = settings.BASE_URL.replace(/\/+$/, '') || httpUrl;
    for (const line of this.#lastLines(first, url)) terminal.line(line);
    if (this.#options.withDemo) await this.#startDemo(full, httpUrl);
  }

  /** Starts the program of `npm run demo`, which prints a line a second. It is not restarted: nothing depends on it. */
  async #startDemo(env: NodeJS.ProcessEnv, url: string) {
    const { terminal } = this.#options;
    terminal.line('');
    const plan = planProgram(['dist/bench/traffic/demo.js', '--url', url], env);
    this.#demo = await startChild(plan, (line) => terminal.line(line));
    if (this.#isStopping) this.#demo.signal('SIGKILL');
  }

  /** Stops the parts in reverse order, each after the one before it has exited. */
  async drain(): Promise<void> {
    this.#isStopping = true;
    this.#disk.stop();
    this.#stopFirstStart();
    this.#demo?.signal('SIGTERM');
    await this.#demo?.exited;
    for (const stage of [...this.#stages].reverse()) await Promise.all(stage.map((part) => this.#stop(part)));
    this.#record.clear();
  }

  async #stop(part: Part) {
    const startedAtMs = Date.now();
    const outcome = await part.stop();
    if (outcome === '') return;
    this.#options.terminal.part(part.name, `${outcome} in ${formatDuration(Date.now() - startedAtMs)}`);
  }

  /** Nats-server stores nothing more after a failed write, until it is restarted. */
  #repairBus() {
    this.#stages
      .flat()
      .find(({ name }) => name === 'bus')
      ?.restart();
  }

  /** Kills every part immediately. */
  killAll(): void {
    this.#demo?.signal('SIGKILL');
    for (const part of this.#stages.flat()) part.kill();
    this.#stopFirstStart();
  }

  /** Starts the bus, or finds an external one. Returns its URL, with user and password. */
  async #startBus(env: NodeJS.ProcessEnv): Promise<string> {
    const { settings, secrets, server, terminal } = this.#options;
    if (server === undefined) {
      await terminal.step('bus', async () => `external, at ${await checkOutsideBus(settings.NATS_URL)}`);
      return settings.NATS_URL;
    }
    const { plan, url } = await planBus({ settings, secrets, server, env });
    await this.#startPart('bus', plan, (ready) => `nats-server on port ${ready.port}`);
    return url;
  }

  /** Starts the store, or finds an external one. Returns its URLs, with user and password, for everything and for questions. */
  async #startStore(env: NodeJS.ProcessEnv): Promise<{ url: string; queryUrl: string | undefined }> {
    const { settings, secrets, terminal } = this.#options;
    if (settings.CLICKHOUSE_URL !== '') {
      await terminal.step('store', () => this.#checkStore());
      rmSync(storeUrlPath(settings.DATA_DIR), { force: true });
      return { url: settings.CLICKHOUSE_URL, queryUrl: env.CLICKHOUSE_QUERY_URL };
    }
    const { plan, url, queryUrl } = await planStore({ settings, secrets, env });
    await this.#startPart('store', plan, () => `on port ${plan.env.STORE_PORT}`);
    return { url, queryUrl };
  }

  /**
   * Throws a `Problem` when an external store does not answer. If this folder has been used with that store, the start continues: the
   * service takes events, and they wait in the bus.
   */
  async #checkStore() {
    const { settings, terminal } = this.#options;
    const usedPath = join(settings.DATA_DIR, 'external-store');
    const used = existsSync(usedPath) ? readFileSync(usedPath, 'utf8') : '';
    const { all, away } = await askOutsideStore(settings.CLICKHOUSE_URL);
    if (away === '') {
      if (used !== all) writeWhole(usedPath, all);
      return `external, at ${all}`;
    }
    if (used !== all)
      throw new Problem(
        `CLICKHOUSE_URL: no ClickHouse answers at ${away}. Start it, or unset CLICKHOUSE_URL to use the built-in one.`,
      );
    terminal.part('store', `no ClickHouse answers at ${away}; events wait in the bus until it does`);
    return `external, at ${all}`;
  }

  async #ensureAccount(env: NodeJS.ProcessEnv): Promise<FirstStart | undefined> {
    if (this.#isStopping) return undefined;
    const { settings, terminal } = this.#options;
    const log = openLogFile(join(settings.DATA_DIR, 'logs/first-start.log'), {
      say: (text) => terminal.part('account', text),
    });
    let first: FirstStart | undefined;
    await terminal.step('account', async () => {
      const plan = planProgram(['dist/infra/accounts/first-start.js'], env);
      first = await runFirstStart(plan, log, (stop) => {
        this.#stopFirstStart = stop;
      });
      return first.created ? 'created a team, a site and clients' : 'team, site and clients exist';
    });
    return first;
  }

  /**
   * Starts every process that answers HTTP, all in parallel.
   * Returns the URL of the service; undefined when a drain has begun.
   */
  async #startHttp(env: NodeJS.ProcessEnv): Promise<string | undefined> {
    if (this.#isStopping) return undefined;
    const { settings, terminal } = this.#options;
    const planned = await planHttp({ settings, env });
    const stage = planned.map(({ name, plan }) => this.#part(name, plan));
    this.#stages.push(stage);
    let url = '';
    await terminal.step('http', async () => {
      const ready = await Promise.all(stage.map((part) => part.start()));
      url = String(ready[0]?.url);
      return stage.length === 1 ? url : `${url}, ${stage.length} processes`;
    });
    return url;
  }

  async #startPart(name: string, plan: ChildPlan, describe: (ready: Record<string, unknown>) => string) {
    if (this.#isStopping) return;
    const part = this.#part(name, plan);
    this.#stages.push([part]);
    await this.#options.terminal.step(name, async () => describe(await part.start()));
  }

  #part(name: string, plan: ChildPlan) {
    const { settings, terminal } = this.#options;
    return new Part({
      name,
      plan,
      drainMaxMs: DRAIN_MAX_MS + settings.DRAIN_WAIT_MS,
      log: openLogFile(join(settings.DATA_DIR, 'logs', `${name}.log`), {
        say: (text) => terminal.part(name, text),
      }),
      onLine: (line) => this.#logLines.show(name, line),
      say: (text) => terminal.part(name, text),
      onPid: (pid) => this.#record.setPart(name, pid),
      onGivenUp: (problem) => this.#giveUp(problem),
      isDiskFull: () => {
        this.#disk.check();
        return this.#disk.isFull;
      },
    });
  }

  #lastLines({ created, credentials, cors, signIn }: FirstStart, url: string) {
    const { settings } = this.#options;
    const credentialsPath = join(settings.DATA_DIR, 'credentials.json');
    // A token that the operator has set is known.
    const tokenPath =
      isExposed(settings) && settings.OPERATIONS_TOKEN === ''
        ? join(settings.DATA_DIR, 'secrets.json')
        : undefined;
    return created
      ? firstStartLines({ url, credentials, credentialsPath, cors, tokenPath, signIn })
      : laterStartLines({ url, credentialsPath, tokenPath });
  }
}
