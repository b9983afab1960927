import { setTimeout as wait } from 'node:timers/promises';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { type Finding, median, rounded, type TableRow } from './results.ts';

/**
 * Question: how long are questions without an answer when the processor that owns the lane dies, hangs, ends as it should, or is
 * restarted with the other one in turn? Two processors, one of which stands by, under a light load, with default settings.
 *
 * A question about today needs the owner. It is asked every 50 ms, and the longest time between two answers around each turn is
 * what counts, so it contains everything that a reader waits for. `rejected` are answers other than 200 in all turns.
 */
export interface TakeOverBenchOptions {
  readonly turns: number;
}

const SEED = 20_261_126;
const ASK_EVERY_MS = 50;
const SETTLES_MS = 1_500;
const WAIT_MAX_MS = 60_000;
const GOALS_MS = { killed: 5_000, 'handed over': 1_000 } as const;

type TakeOver = 'killed' | 'hanging' | 'handed over' | 'rolling restart';

/** Takes turns on a cluster whose processors change places. */
class TakeOvers {
  readonly #cluster: Cluster;
  #owner = 'first';
  #other = 'second';

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** One turn, at whose end one of the two owns the lane and the other stands by. */
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

export async function takeOverBench({ turns }: TakeOverBenchOptions): Promise<Finding> {
  await using cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['first', 'second'],
    withStore: true,
    env: { QUERY_LIMIT_PER_10_S: '0' },
  });
  await cluster.ready('web');
  const traffic = new Traffic(cluster, { seed: SEED, hosts: ['web'], persistent: true, paceMs: 50 });
  const asking = new Asking(cluster);
  const takeOvers = new TakeOvers(cluster);
  const rows: Record<string, TableRow> = {};
  for (const turn of ['killed', 'hanging', 'handed over', 'rolling restart'] as const) {
    const found = [];
    for (let index = 0; index < turns; index += 1) {
      found.push(await asking.during(() => takeOvers.take(turn)));
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
  asking.stop();
  const ledger = await traffic.stop();
  const reasons = Object.entries(GOALS_MS).map(
    ([turn, goalMs]) => `${turn}: at most ${rows[turn]?.worstMs} ms without an answer (goal ${goalMs})`,
  );
  const isReached = Object.entries(GOALS_MS).every(([turn, goalMs]) => (rows[turn]?.worstMs ?? 0) <= goalMs);
  return {
    name: 'take-over',
    config: { turns, askEveryMs: ASK_EVERY_MS, seed: SEED },
    figures: { acknowledged: ledger.acknowledged.length },
    tables: { 'without an answer': rows },
    verdict: isReached ? 'reached' : 'missed',
    reasons,
  };
}
