import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Clocks } from '../cluster/clocks.ts';
import { Cluster } from '../cluster/cluster.ts';
import { type Audit, audit, type Outage } from '../faults/audit.ts';
import { Ledger } from '../traffic/ledger.ts';
import { Traffic } from '../traffic/traffic.ts';
import { Disks } from './disks.ts';
import type { ChaosFault } from './fault.ts';
import { FAULTS } from './faults.ts';
import { BUS, calm, LANES_FIRST, type Powers, PROCESSORS, STORE, untilTaken, WEB } from './ground.ts';
import { PrivateNetwork } from './network.ts';
import { installTools } from './root.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** The faults that may happen; those that this machine does not allow are left out. */
  readonly faults?: readonly ChaosFault[];
  /** True if the run may end, by the number of faults, the elapsed time, and the rounds of each kind. */
  readonly enough: (faults: number, elapsedMs: number, rounds: number) => boolean;
  readonly say: (line: string) => void;
}

/** Result of a run. */
export interface ChaosReport {
  readonly seed: number;
  /** Number of times that each fault happened. */
  readonly faults: Readonly<Record<string, number>>;
  /** The faults that this machine does not allow, and why. */
  readonly leftOut: Readonly<Record<string, string>>;
  /** Number of times that the books were closed, the last time at the end. */
  readonly closings: number;
  readonly resent: number;
  /** The books at the end, or where they were wrong first. */
  readonly books: Audit;
  /** True if everything acknowledged is stored once, without any difference. */
  readonly isRight: boolean;
}

/** After a fault, owners and collectors find each other again within this time. */
const SETTLES_MS = 4_000;
/** Between two closings of the books. */
const FAULTS_BETWEEN_CLOSINGS = 12;
const EVENTS_BETWEEN_FAULTS = 150;
const LOGS = 'logs';

/**
 * Lets one fault after the other happen to a service under load, in an order that the seed decides. Now and then, and at the end,
 * the senders stop and the books are closed: every acknowledged event is stored once and in the session that was answered, and
 * sessions, store and API agree. A run ends at the first difference.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  await installTools();
  using ground = new RunGround();
  try {
    const report = await runOn(ground, options);
    if (!report.isRight) options.say(`what the processes said: ${ground.keepLogs()}`);
    return report;
  } catch (error) {
    options.say(`what the processes said: ${ground.keepLogs()}`);
    throw error;
  }
}

async function runOn(
  ground: RunGround,
  { seed, faults = FAULTS, enough, say }: ChaosOptions,
): Promise<ChaosReport> {
  const { powers, folder } = ground;
  const allowed = faults.filter(({ needs }) => needs === undefined || powers[needs] !== undefined);
  const leftOut = Object.fromEntries(
    faults.flatMap(({ name, needs }) =>
      needs === undefined || powers[needs] !== undefined ? [] : [[name, ground.reasonOf(needs)]],
    ),
  );
  for (const [name, reason] of Object.entries(leftOut)) say(`LEFT OUT: ${name}: ${reason}`);
  await using cluster = await Cluster.start({
    hosts: Object.fromEntries(WEB.map((name) => [name, ['ingest', 'query'] as const])),
    processors: PROCESSORS,
    withStore: true,
    storeRelay: true,
    busServers: 3,
    env: {
      LANES: String(LANES_FIRST),
      WORKERS: '1',
      FLUSH_INTERVAL_MS: '100',
      PUBLISH_TIMEOUT_MS: '2500',
      QUERY_LIMIT_PER_10_S: '0',
    },
    folder,
    places: powers.network,
  });
  await calm(cluster);
  const random = new SeededRandom(seed);
  const startMs = performance.now();
  const happened = new Map<string, number>();
  const outages: Outage[] = [];
  let ledger = new Ledger();
  let order: ChaosFault[] = [];
  let count = 0;
  const mayHappen = ({ name, timesMax }: ChaosFault) =>
    (happened.get(name) ?? 0) < (timesMax ?? Number.POSITIVE_INFINITY);
  const isEnough = () => enough(count, performance.now() - startMs, Math.floor(count / allowed.length));
  for (let closings = 1; ; closings += 1) {
    const traffic = new Traffic(cluster, {
      seed: seed * 1_000 + closings,
      hosts: WEB,
      persistent: true,
      paceMs: 20,
    });
    await untilTaken(traffic, EVENTS_BETWEEN_FAULTS);
    for (let since = 0; since < FAULTS_BETWEEN_CLOSINGS; since += 1) {
      if (isEnough()) break;
      // Every kind comes once before one comes again. The order does not depend on the faults that this machine allows.
      while (order.length === 0)
        order = shuffled(faults, random).filter((fault) => allowed.includes(fault) && mayHappen(fault));
      const fault = must(order.pop(), 'a fault');
      const fromMs = Date.now();
      say(`${fault.name} …`);
      // Each fault has random numbers of its own: how many it draws does not change the faults after it.
      await fault.happen({ ...powers, cluster, traffic, random: new SeededRandom(seed * 1_000 + count) });
      await calm(cluster);
      await untilTaken(traffic, EVENTS_BETWEEN_FAULTS);
      outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
      happened.set(fault.name, (happened.get(fault.name) ?? 0) + 1);
      count += 1;
      say(`${fault.name}: over after ${((Date.now() - fromMs) / 1_000).toFixed(1)} s`);
    }
    ledger = ledger.with([await traffic.stop()]);
    const books = await audit(cluster, ledger, must(WEB[0], 'a host'), outages);
    const isRight = books.differences.length === 0 && books.stored === books.acknowledged;
    say(
      `books closed: ${books.acknowledged} acknowledged, ${books.stored} stored, ${isRight ? 'right' : 'WRONG'}`,
    );
    if (!isRight || isEnough()) {
      const { resent } = ledger;
      return { seed, faults: Object.fromEntries(happened), leftOut, closings, resent, books, isRight };
    }
  }
}

/** The folder of a run, and the parts of the machine that it may change. */
class RunGround implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'footfall-chaos-'));
  readonly powers: Powers;
  readonly #reasons = new Map<keyof Powers, string>();
  #keepsLogs = false;

  constructor() {
    this.powers = {
      network: this.#open('network', () => new PrivateNetwork([...BUS, STORE, ...PROCESSORS, ...WEB])),
      disks: this.#open('disks', () => new Disks(this.folder, [...BUS, STORE])),
      clocks: this.#open('clocks', () => new Clocks(this.folder)),
    };
  }

  /** Why a power is missing. */
  reasonOf(power: keyof Powers): string {
    return this.#reasons.get(power) ?? '';
  }

  /** Lets the logs outlive the run; returns their folder. */
  keepLogs(): string {
    this.#keepsLogs = true;
    return join(this.folder, LOGS);
  }

  [Symbol.dispose](): void {
    this.powers.network?.[Symbol.dispose]();
    this.powers.disks?.[Symbol.dispose]();
    for (const name of readdirSync(this.folder))
      if (name !== LOGS || !this.#keepsLogs)
        rmSync(join(this.folder, name), { recursive: true, force: true });
    if (!this.#keepsLogs) rmSync(this.folder, { recursive: true, force: true });
  }

  #open<Power>(name: keyof Powers, open: () => Power): Power | undefined {
    try {
      return open();
    } catch (error) {
      this.#reasons.set(name, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}

function shuffled(faults: readonly ChaosFault[], random: SeededRandom): ChaosFault[] {
  return faults
    .map((fault) => ({ fault, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ fault }) => fault);
}
