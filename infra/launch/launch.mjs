import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from './child.mjs';
import { Disk } from './disk.mjs';
import { firstStartLines, laterStartLines } from './first-lines.mjs';
import { runFirstStart } from './first-start.mjs';
import { openLogFile } from './log-file.mjs';
import { createLogLines } from './log-lines.mjs';
import { askOutsideStore, checkOutsideBus } from './outside.mjs';
import { Part } from './part.mjs';
import { nodeEnv, planBus, planHttp, planProgram, planStore, storeUrlPath } from './parts.mjs';
import { Problem } from './problem.mjs';
import { createRunRecord, RUN_VARIABLE } from './run-record.mjs';
import { formatDuration } from './terminal.mjs';
import { writeWhole } from './write-whole.mjs';

/** @typedef {import('./child.mjs').ChildPlan} ChildPlan */
/** @typedef {import('./first-start.mjs').FirstStart} FirstStart */
/**
 * @typedef {object} LaunchOptions
 * @property {import('./settings.mjs').LaunchSettings} settings with the final port
 * @property {import('./data-folder.mjs').Secrets} secrets
 * @property {number} earlierStreams
 * @property {import('./nats-version.mjs').NatsServer | undefined} server undefined when an external bus is used
 * @property {NodeJS.ProcessEnv} env
 * @property {boolean} withDemo sends made-up traffic and shows what comes of it
 * @property {import('./terminal.mjs').Terminal} terminal
 */

/** One run of the whole service. Its parts are started in order and drained in reverse order. */
export class Launch {
  #options;
  #record;
  #logLines;
  #disk;
  /**
   * In the order of their start. The parts of one stage are started and drained together.
   * @type {Part[][]}
   */
  #stages = [];
  /** @type {import('./child.mjs').Child | undefined} */
  #demo;
  #isStopping = false;
  #stopFirstStart = () => {};
  /** @type {(problem: Error) => void} */
  #giveUp = () => {};

  /**
   * Rejects when a part cannot be restarted any more.
   * @type {Promise<never>}
   */
  givenUp = new Promise((_resolve, reject) => {
    this.#giveUp = reject;
  });

  /** @param {LaunchOptions} options */
  constructor(options) {
    this.#options = options;
    this.#record = createRunRecord(options.settings.dataDir);
    this.#logLines = createLogLines(options.terminal.part, Date.now);
    this.#disk = new Disk({
      folder: options.settings.dataDir,
      freeMinBytes: options.settings.diskFreeMinBytes,
      say: (text) => options.terminal.part('disk', text),
      onFreed: () => this.#repairBus(),
    });
    this.givenUp.catch(() => {}); // It is awaited only after the start.
  }

  /** Starts every part in order and prints the last lines. Stops early, without an error, when a drain begins. */
  async start() {
    const { settings, secrets, env, terminal } = this.#options;
    const base = {
      ...env,
      [RUN_VARIABLE]: this.#record.id,
      DATA_DIR: settings.dataDir,
      PORT: String(settings.port),
      INSTANCE: env.INSTANCE || secrets.instance,
    };
    const NATS_URL = await this.#startBus(base);
    const store = await this.#startStore(base);
    const full = { ...base, NATS_URL, CLICKHOUSE_URL: store.url, CLICKHOUSE_QUERY_URL: store.queryUrl };
    const own = {
      SECRETS_KEY: env.SECRETS_KEY || secrets.secretsKey,
      OPERATIONS_TOKEN: env.OPERATIONS_TOKEN || (settings.isExposed ? secrets.operationsToken : ''),
    };
    const first = await this.#ensureAccount(full);
    await this.#startPart(
      'processor',
      planProgram(['dist/processor/main.js'], { ...full, ...own, ...nodeEnv(settings, 'processor') }),
      () => 'ready',
    );
    const httpUrl = await this.#startHttp({ ...full, ...own });
    if (this.#isStopping || first === undefined || httpUrl === undefined) return;
    const url = settings.baseUrl || httpUrl;
    for (const line of this.#lastLines(first, url)) terminal.line(line);
    if (this.#options.withDemo) await this.#startDemo(full, httpUrl);
  }

  /**
   * Starts the program of `npm run demo`, which prints a line a second. It is not restarted: nothing depends on it.
   * @param {NodeJS.ProcessEnv} env
   * @param {string} url
   */
  async #startDemo(env, url) {
    const { terminal } = this.#options;
    terminal.line('');
    const plan = planProgram(['dist/bench/traffic/demo.js', '--url', url], env);
    this.#demo = await startChild(plan, (line) => terminal.line(line));
    if (this.#isStopping) this.#demo.signal('SIGKILL');
  }

  /** Stops the parts in reverse order, each after the one before it has exited. */
  async drain() {
    this.#isStopping = true;
    this.#disk.stop();
    this.#stopFirstStart();
    this.#demo?.signal('SIGTERM');
    await this.#demo?.exited;
    for (const stage of [...this.#stages].reverse()) await Promise.all(stage.map((part) => this.#stop(part)));
    this.#record.clear();
  }

  /** @param {Part} part */
  async #stop(part) {
    const startedAtMs = Date.now();
    const outcome = await part.stop();
    if (outcome === '') return;
    this.#options.terminal.part(part.name, `${outcome} in ${formatDuration(Date.now() - startedAtMs)}`);
  }

  /** nats-server stores nothing more after a failed write, until it is restarted. */
  #repairBus() {
    this.#stages
      .flat()
      .find(({ name }) => name === 'bus')
      ?.restart();
  }

  /** Kills every part immediately. */
  killAll() {
    this.#demo?.signal('SIGKILL');
    for (const part of this.#stages.flat()) part.kill();
    this.#stopFirstStart();
  }

  /**
   * @param {NodeJS.ProcessEnv} env
   * @returns {Promise<string>} the URL of the bus, with user and password
   */
  async #startBus(env) {
    const { settings, secrets, earlierStreams, server, terminal } = this.#options;
    if (server === undefined) {
      await terminal.step('bus', async () => `external, at ${await checkOutsideBus(settings.natsUrl)}`);
      return settings.natsUrl;
    }
    const { plan, url } = await planBus({ settings, secrets, earlierStreams, server, env });
    await this.#startPart('bus', plan, (ready) => `nats-server on port ${ready.port}`);
    return url;
  }

  /**
   * @param {NodeJS.ProcessEnv} env
   * @returns {Promise<{ url: string, queryUrl: string | undefined }>} the URLs of the store, with user and password, for
   * everything and for questions
   */
  async #startStore(env) {
    const { settings, secrets, terminal } = this.#options;
    if (settings.clickhouseUrl !== '') {
      await terminal.step('store', () => this.#checkStore());
      rmSync(storeUrlPath(settings.dataDir), { force: true });
      return { url: settings.clickhouseUrl, queryUrl: env.CLICKHOUSE_QUERY_URL };
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
    const usedPath = join(settings.dataDir, 'external-store');
    const used = existsSync(usedPath) ? readFileSync(usedPath, 'utf8') : '';
    const { all, away } = await askOutsideStore(settings.clickhouseUrl);
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

  /**
   * @param {NodeJS.ProcessEnv} env
   * @returns {Promise<FirstStart | undefined>}
   */
  async #ensureAccount(env) {
    if (this.#isStopping) return undefined;
    const { settings, terminal } = this.#options;
    const log = openLogFile(join(settings.dataDir, 'logs/first-start.log'), {
      say: (text) => terminal.part('account', text),
    });
    /** @type {FirstStart | undefined} */
    let first;
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
   * @param {NodeJS.ProcessEnv} env
   * @returns {Promise<string | undefined>} the URL of the service; undefined when a drain has begun
   */
  async #startHttp(env) {
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

  /**
   * @param {string} name
   * @param {ChildPlan} plan
   * @param {(ready: Record<string, unknown>) => string} describe
   */
  async #startPart(name, plan, describe) {
    if (this.#isStopping) return;
    const part = this.#part(name, plan);
    this.#stages.push([part]);
    await this.#options.terminal.step(name, async () => describe(await part.start()));
  }

  /**
   * @param {string} name
   * @param {ChildPlan} plan
   */
  #part(name, plan) {
    const { settings, terminal } = this.#options;
    return new Part({
      name,
      plan,
      log: openLogFile(join(settings.dataDir, 'logs', `${name}.log`), {
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

  /**
   * @param {FirstStart} first
   * @param {string} url
   */
  #lastLines({ created, credentials, cors, signIn }, url) {
    const { settings, env } = this.#options;
    const credentialsPath = join(settings.dataDir, 'credentials.json');
    // A token that the operator has set is known.
    const tokenPath =
      settings.isExposed && !env.OPERATIONS_TOKEN ? join(settings.dataDir, 'secrets.json') : undefined;
    return created
      ? firstStartLines({ url, credentials, credentialsPath, cors, tokenPath, signIn })
      : laterStartLines({ url, credentialsPath, tokenPath });
  }
}
