import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type Finding, median, rounded, type TableRow } from './results.ts';

/**
 * Question: how long are questions without an answer when the processor that owns the lane dies, hangs, ends as it should, or is
 * restarted with the other one in turn? Two processors, one of them as standby, under a light load, with default settings.
 *
 * And how long when two processors share out four lanes, and one of them joins, ends, dies, or both are restarted in turn? From
 * the start of the change until both have their shares again.
 *
 * A question about today needs the owner. It is asked every 50 ms. The longest time between two answers around each turn
 * counts, so it contains everything a reader waits for. `rejected` are answers other than 200 in all turns.
 */
export interface TakeOverBenchOptions {
  readonly turns: number;
  /** Fewer changes: fault tests have them all. */
  readonly isTiny: boolean;
}

const SEED = 20_261_126;
const ASK_EVERY_MS = 50;
const SETTLES_MS = 1_500;
const WAIT_MAX_MS = 60_000;
const GOALS_MS = { killed: 5_000, 'handed over': 1_000 } as const;
const SHARED_LANES = 4;
const SHARED_GOALS_MS = { dies: 5_000, joins: 1_000, ends: 1_000 } as const;

/** Changes to the second of two processors that share the lanes. */
const SHARED_TURNS = ['joins', 'ends', 'dies', 'rolling restart'] as const;

/** Changes to the owner of the only lane. */
const TURNS = ['killed', 'hanging', 'handed over', 'rolling restart'] as const;
type TakeOver = (typeof TURNS)[number];

/** Takes turns on a cluster whose processors change places. */
class TakeOvers {
  readonly #cluster: Cluster;
  #owner = 'first';
  #other = 'second';

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** One turn; at its end one of the two owns the lane and the other is the standby. */
  async take(turn: TakeOver): Promise<void> {
    const { [turn]: end } = this.#ends;
    await end();
  }

  readonly #ends: Readonly<Record<TakeOver, () => Promise<void>>> = {
    killed: () => this.#without((owner) => this.#cluster.kill(owner)),
    hanging: async () => {
      const hanging = this.#cluster.process(this.#owner);
      await hanging.freeze();
      await this.#swapped();
      hanging.resume();
      await this.#until(this.#other, 'standby');
    },
    'handed over': () => this.#without((owner) => this.#cluster.process(owner).stop()),
    'rolling restart': async () => {
      for (const name of ['first', 'second']) {
        await this.#cluster.restart(name);
        await waitFor(
          `${name} is ready`,
          async () => (await this.#cluster.processorHealth(name)).ready,
          WAIT_MAX_MS,
        );
      }
      if ((await this.#cluster.processorHealth(this.#owner)).answering === 0)
        [this.#owner, this.#other] = [this.#other, this.#owner];
      await this.#until(this.#owner, 'answering');
    },
  };

  async #without(end: (owner: string) => Promise<void>): Promise<void> {
    await end(this.#owner);
    await this.#swapped();
    await this.#cluster.restart(this.#other);
    await this.#until(this.#other, 'standby');
  }

  async #swapped(): Promise<void> {
    [this.#owner, this.#other] = [this.#other, this.#owner];
    await this.#until(this.#owner, 'answering');
  }

  async #until(name: string, state: 'answering' | 'standby'): Promise<void> {
    await waitFor(
      `${name} is ${state}`,
      async () => (await this.#cluster.processorHealth(name))[state] === 1,
      WAIT_MAX_MS,
    );
  }
}

/** Takes turns on a cluster whose two processors share out the lanes. */
class SharedTurns {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Prepares the state that a turn needs. */
  async prepare(turn: (typeof SHARED_TURNS)[number]): Promise<void> {
    const second = this.#cluster.process('second');
    if (turn === 'joins') {
      if (second.running) await second.stop();
      await this.#answering({ first: SHARED_LANES });
    } else {
      if (!second.running) await this.#cluster.restart('second');
      await this.#shared();
    }
  }

  async take(turn: (typeof SHARED_TURNS)[number]): Promise<void> {
    if (turn === 'joins') {
      await this.#cluster.restart('second');
      await this.#shared();
    } else if (turn === 'rolling restart') {
      for (const name of ['first', 'second']) {
        await this.#cluster.restart(name);
        await this.#shared();
      }
    } else {
      await (turn === 'dies' ? this.#cluster.kill('second') : this.#cluster.process('second').stop());
      await this.#answering({ first: SHARED_LANES });
    }
  }

  #shared(): Promise<void> {
    return this.#answering({ first: SHARED_LANES / 2, second: SHARED_LANES / 2 });
  }

  async #answering(lanes: Readonly<Record<string, number>>): Promise<void> {
    for (const [name, count] of Object.entries(lanes))
      await waitFor(
        `${name} answers for ${count} lanes`,
        async () => (await this.#cluster.processorHealth(name)).answering === count,
        WAIT_MAX_MS,
      );
  }
}

/** Asks all the time, and notes when answers arrive. */
class Asking {
  readonly #client = new Client(64);
  readonly #timer: NodeJS.Timeout;
  #answeredAt: number[] = [];
  #rejected = 0;

  constructor(cluster: Cluster) {
    const { projectId, clients } = cluster.credentials;
    const url = `${cluster.url('web')}/insights/${projectId}/metrics?range=today`;
    this.#timer = setInterval(() => {
      this.#client.get(url, clients.read).then(
        ({ status }) => {
          if (status === 200) this.#answeredAt.push(performance.now());
          else this.#rejected += 1;
        },
        () => {
          this.#rejected += 1;
        },
      );
    }, ASK_EVERY_MS);
  }

  /** The longest time without an answer, and the rejected questions, while `happening` runs and some time after it. */
  async during(
    happening: () => Promise<void>,
  ): Promise<{ readonly gapMs: number; readonly rejected: number }> {
    await wait(SETTLES_MS);
    this.#answeredAt = this.#answeredAt.slice(-1);
    const before = this.#rejected;
    await happening();
    await wait(SETTLES_MS);
    const gaps = this.#answeredAt.slice(1).map((atMs, index) => atMs - (this.#answeredAt[index] ?? atMs));
    return { gapMs: Math.max(0, ...gaps), rejected: this.#rejected - before };
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#client.close();
  }
}

export async function takeOverBench({ turns, isTiny }: TakeOverBenchOptions): Promise<Finding> {
  const alone = await measured({}, async (cluster, asking) => {
    const takeOvers = new TakeOvers(cluster);
    return gapsOf(isTiny ? ['killed'] : TURNS, turns, (turn) => asking.during(() => takeOvers.take(turn)));
  });
  const shared = await measured({ LANES: String(SHARED_LANES) }, async (cluster, asking) => {
    const sharedTurns = new SharedTurns(cluster);
    return gapsOf(isTiny ? ['joins'] : SHARED_TURNS, turns, async (turn) => {
      await sharedTurns.prepare(turn);
      return asking.during(() => sharedTurns.take(turn));
    });
  });
  const goals = [
    ...Object.entries(GOALS_MS).map(([turn, goalMs]) => ({ turn, goalMs, row: alone.rows[turn] })),
    ...Object.entries(SHARED_GOALS_MS).map(([turn, goalMs]) => ({ turn, goalMs, row: shared.rows[turn] })),
  ].filter(({ row }) => row !== undefined);
  return {
    name: 'take-over',
    config: { turns, askEveryMs: ASK_EVERY_MS, sharedLanes: SHARED_LANES, seed: SEED },
    figures: { acknowledged: alone.acknowledged + shared.acknowledged },
    tables: { 'without an answer': alone.rows, 'four lanes, two processors': shared.rows },
    verdict: goals.every(({ row, goalMs }) => Number(row?.worstMs ?? 0) <= goalMs) ? 'reached' : 'missed',
    reasons: goals.map(
      ({ turn, goalMs, row }) => `${turn}: at most ${row?.worstMs} ms without an answer (goal ${goalMs})`,
    ),
  };
}

type GapRows = Readonly<Record<string, TableRow>>;

/** Measures on its own cluster, under a light load. */
async function measured(
  env: Readonly<Record<string, string>>,
  measure: (cluster: Cluster, asking: Asking) => Promise<GapRows>,
): Promise<{ readonly rows: GapRows; readonly acknowledged: number }> {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['first', 'second'],
    withStore: true,
    env: { QUERY_LIMIT_PER_10_S: '0', ...env },
  });
  await cluster.ready('web');
  const traffic = new Traffic(cluster, { seed: SEED, hosts: ['web'], persistent: true, paceMs: 50 });
  const asking = new Asking(cluster);
  const rows = await measure(cluster, asking);
  asking.stop();
  const ledger = await traffic.stop();
  return { rows, acknowledged: ledger.acknowledged.length };
}

/** A row for each kind of turn. */
async function gapsOf<Turn extends string>(
  kinds: readonly Turn[],
  turns: number,
  take: (turn: Turn) => ReturnType<Asking['during']>,
): Promise<GapRows> {
  const rows: Record<string, TableRow> = {};
  for (const turn of kinds) {
    const found = [];
    for (let index = 0; index < turns; index += 1) {
      found.push(await take(turn));
      process.stderr.write(
        `${turn}: turn ${index + 1} of ${turns}, ${Math.round(found.at(-1)?.gapMs ?? 0)} ms\n`,
      );
    }
    const gaps = found.map(({ gapMs }) => gapMs);
    rows[turn] = {
      medianMs: rounded(median(gaps)),
      worstMs: rounded(Math.max(...gaps)),
      rejected: found.reduce((sum, { rejected }) => sum + rejected, 0),
    };
  }
  return rows;
}
