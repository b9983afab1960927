import { laneKeyOf } from '../../processor/lane/lane-record.ts';
import { Collectors } from './collectors.ts';
import { checkFeed } from './feed-books.ts';
import { FAIR, type Weather } from './network.ts';
import { Questions } from './questions.ts';
import { LEASE_MS, type Mistakes, SimulatedProcessor } from './simulated-processor.ts';
import { World } from './world.ts';

/** Rounds of ending all processes in order, at the end: a lane may have been without an owner in one. */
const END_ROUNDS = 4;
const NAMES = ['one', 'two', 'three'] as const;

/** Faults that a long run must have seen, so its success means something. */
export const FAULTS_TO_SEE = [
  'requests lost',
  'answers lost',
  'slow messages',
  'deliveries lost',
  'deliveries repeated',
  'collectors that died',
  'events that were sent twice',
  'payments for known sessions',
  'kills',
  'pauses',
  'pauses beyond a lease',
  'processes that ended in order',
  'lanes handed over',
  'processes that were cut off from the bus',
  'requests of who is cut off',
  'deaths flush:before-intent',
  'deaths flush:after-intent',
  'deaths flush:after-events',
  'deaths flush:after-feed',
  'deaths flush:after-sessions',
  'deaths flush:after-checkpoint',
  'deaths flush:after-ack',
  'deaths lane:after-restore',
  'deaths of the store',
  'absences of the store',
  'merges',
  'inserts that take long',
  'inserts that land during the next restore',
  'rows without their token',
  'tokens without their rows',
  'inserts dropped by their token',
  'conflicting writes',
  'lanes taken over',
  'lanes given up',
  'owners that were fenced',
  'unfinished flushes that were found',
  'questions that were checked',
  'questions that two owners heard',
  'messages of feeds',
  'questions without an answer of an owner',
] as const;

/** Result of one schedule. */
export interface ScheduleOutcome {
  readonly seed: number;
  /** The same for the same seed, unless the code has changed. */
  readonly hash: string;
  readonly steps: number;
  /** Number of occurrences of each kind. */
  readonly happened: ReadonlyMap<string, number>;
  /** Undefined when every law held. */
  readonly broken: Error | undefined;
}

export interface ScheduleOptions {
  readonly mistakes?: Mistakes;
  /** Gets every step, to read the trace. */
  readonly onStep?: (line: () => string) => void;
}

/** Runs the schedule of a seed: traffic and faults, then the end, at which the books are closed. */
export async function runSchedule(
  seed: number,
  { mistakes = {}, onStep }: ScheduleOptions = {},
): Promise<ScheduleOutcome> {
  const world = new World(seed, onStep);
  let broken: Error | undefined;
  try {
    await world.time.run(() => new Schedule(world, mistakes).run());
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error));
  }
  await world.store.close();
  const { hash, steps } = world.time;
  return { seed, hash, steps, happened: world.happened, broken };
}

class Schedule {
  readonly #world: World;
  readonly #processors: readonly SimulatedProcessor[];
  readonly #collectors: Collectors;
  readonly #questions: Questions;
  readonly #weather: Weather;
  readonly #crashShare: number;
  /** The mean time between two faults. */
  readonly #faultEveryMs: number;
  #isOver = false;

  constructor(world: World, mistakes: Mistakes) {
    const { random } = world.time;
    this.#world = world;
    const processors = random.integer(1, NAMES.length);
    this.#processors = NAMES.slice(0, processors).map(
      (name) => new SimulatedProcessor(world, name, mistakes),
    );
    this.#collectors = new Collectors(world, random.integer(20, 45));
    this.#questions = new Questions(world);
    const share = (max: number) => (random.chance(0.3) ? 0 : random.next() ** 2 * max);
    this.#weather = {
      requestsLost: share(0.06),
      answersLost: share(0.06),
      deliveriesLost: share(0.02),
      deliveriesRepeated: share(0.02),
      slow: share(0.02),
    };
    this.#crashShare = share(0.15);
    this.#faultEveryMs = 250 + random.next() * 2_000;
  }

  async run(): Promise<void> {
    const { time, network } = this.#world;
    for (const processor of this.#processors) {
      processor.crashShare = this.#crashShare;
      processor.start();
    }
    network.weather = this.#weather;
    this.#world.store.onLateInsert = ({ name }) =>
      this.#processors.find((one) => one.name === name)?.kill(time.random.below(LEASE_MS));
    const disturbing = this.#disturb();
    const asking = this.#questions.ask();
    await this.#collectors.send(2);
    this.#isOver = true;
    this.#questions.stop();
    await disturbing;
    await asking;
    network.weather = FAIR;
    this.#world.store.onLateInsert = undefined;
    for (const processor of this.#processors) processor.crashShare = 0;
    await time.wait(time.random.below(LEASE_MS));
    await this.#end();
    const { laws, store, bus, lanes } = this.#world;
    for (let lane = 0; lane < lanes; lane += 1) {
      laws.atEnd(lane, this.#world.arrivalsOf(lane), store);
      for (const site of this.#world.fedSites.keys()) checkFeed(laws, { site, lane, bus, store });
    }
    for (const _ of bus.feed) network.count('messages of feeds');
  }

  /** One fault after the other. */
  async #disturb(): Promise<void> {
    const { time, store, network } = this.#world;
    const { random } = time;
    for (;;) {
      await time.wait(random.waitMs(this.#faultEveryMs));
      if (this.#isOver) return;
      const processor = this.#processors[random.below(this.#processors.length)];
      const drawn = random.next();
      if (drawn < 0.25) processor?.kill(random.below(2 * LEASE_MS));
      else if (drawn < 0.42) processor?.pause(random.below(3 * LEASE_MS));
      else if (drawn < 0.46) processor?.cutOff(random.below(4 * LEASE_MS));
      else if (drawn < 0.51) processor?.handOver(random.below(this.#world.lanes), random.below(2 * LEASE_MS));
      else if (drawn < 0.61) {
        network.count('processes that ended in order');
        await processor?.stop();
        await time.wait(random.below(500));
        processor?.start();
      } else if (drawn < 0.75) {
        network.count('deaths of the store');
        if (random.chance(0.5)) store.kill(random.below(1_000));
        else store.killInInsert(random.below(1_000));
      } else if (drawn < 0.85) {
        network.count('absences of the store');
        store.keepAway(random.below(3_000));
      } else store.merge();
    }
  }

  /** Ends all processes in order until every lane is in the store. */
  async #end(): Promise<void> {
    const { time, laws, bus, lanes } = this.#world;
    for (let round = 0; round < END_ROUNDS; round += 1) {
      for (const processor of this.#processors) processor.start();
      await time.wait(LEASE_MS * 3);
      await Promise.all(this.#processors.map((processor) => processor.stop()));
      const isDone = Array.from({ length: lanes }, (_, lane) => {
        const record = laws.recordOf(laneKeyOf(lane));
        return (
          record?.intent === null &&
          record.checkpoint.sequence === bus.streams.lastOf(this.#world.streamOf(lane))
        );
      });
      if (isDone.every(Boolean)) return;
    }
    throw new Error('the lanes do not come to their end, though nothing disturbs them any more');
  }
}
