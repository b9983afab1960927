import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { StoredRow } from '../../processor/testing/stored-rows.ts';
import { readRows } from '../../processor/testing/stored-rows.ts';
import { currentSessions } from '../../processor/testing/stored-state.ts';
import { HotView } from '../../query/snapshot/hot-view.ts';
import { type Seam, seamOf } from '../../query/snapshot/seam.ts';
import { SITES } from './collectors.ts';
import { difference, eventFact, factsOf, sessionFact, sessionKey } from './facts.ts';
import { quietLog, type World } from './world.ts';

const METRICS = new Metrics();
/** The mean time between two questions. */
const ASK_EVERY_MS = 900;
/** An answer may be as old as the fetch that it shares (`hot-view.ts`). */
const SHARED_MS = 101;

/**
 * A query process: asks the owners for hot rows and joins them with the store's rows by the rules of `query/snapshot/seam.ts`, while
 * flushes land, owners change and sessions merge. Its answers are compared with the meaning of the stream.
 */
export class Questions {
  readonly #world: World;
  readonly #hot: HotView;
  #isOver = false;

  constructor(world: World) {
    this.#world = world;
    this.#hot = new HotView({
      bus: world.bus,
      lanes: ServiceLanes.fixed(world.lanes),
      laneWaitMaxMs: 3_000,
      clock: { nowMs: () => world.time.dateMs },
      metrics: METRICS,
      log: quietLog(() => {}),
    });
  }

  /** Asks one question after the other until `stop`. */
  async ask(): Promise<void> {
    const { time } = this.#world;
    for (;;) {
      await time.wait(time.random.waitMs(ASK_EVERY_MS));
      if (this.#isOver) return;
      await this.#askOnce();
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #askOnce(): Promise<void> {
    const { time, network, lanes } = this.#world;
    const site = time.random.one(SITES);
    await time.wait(SHARED_MS);
    const least = Array.from({ length: lanes }, (_, lane) => this.#world.arrivalsOf(lane).acknowledged);
    await time.wait(SHARED_MS);
    const answers = await this.#hot.rows(storedId(site));
    if (answers.away.length > 0) {
      network.count('questions without an answer of an owner');
      return;
    }
    const seam = seamOf(answers);
    const most = Array.from({ length: lanes }, (_, lane) => this.#world.arrivalsOf(lane).last);
    // Flushes land and merge before the store is read; the seam stays true.
    await time.wait(time.random.next() ** 3 * 4_000);
    network.count('questions that were checked');
    for (let lane = 0; lane < lanes; lane += 1)
      this.#check({ lane, site, least: least[lane] ?? 0, most: most[lane] ?? 0 }, seam);
  }

  /** Compares one lane: its events are those up to one message, and each session is in a state that it had since then. */
  #check({ lane, site, least, most }: AskedLane, seam: Seam): void {
    const { store, laws } = this.#world;
    const arrivals = this.#world.arrivalsOf(lane);
    const hot = seam.hot?.[lane];
    const isAsked = ({ values }: StoredRow) => values.partition === lane && values.projectId === site;
    const flushed = seam.flushed[lane] ?? 0;
    const history = store
      .rows('events')
      .filter((row) => isAsked(row) && Number(row.values.flushNumber) <= flushed);
    const hotEvents = hot === undefined ? [] : readRows('events', hot.events);
    const events = [...history, ...hotEvents].map(({ values }) => eventFact(values)).sort();
    let end = most;
    while (end >= least && !isEqual(events, factsOf(arrivals.upTo(end), site).events)) end -= 1;
    if (end < least) {
      const wrong = difference(events, factsOf(arrivals.upTo(most), site).events);
      laws.onWrongAnswer(`site ${site} of lane ${lane}, messages ${least} to ${most}: ${wrong}`);
      return;
    }
    const newest = newestStates(hot === undefined ? [] : readRows('sessions', hot.sessions));
    const stored = currentSessions(store.rows('sessions').filter(isAsked));
    const sessions = [...stored.filter((row) => !newest.has(sessionKey(row))), ...newest.values()].map(
      (row) => `${sessionKey(row)} ${sessionFact(row)}`,
    );
    const wrong = this.#wrongSessions({ lane, site, end }, sessions.sort());
    if (wrong !== '') laws.onWrongAnswer(`sessions of site ${site}, lane ${lane}: ${wrong}`);
  }

  /** A flush that landed since may have brought newer states of sessions that were not hot. */
  #wrongSessions({ lane, site, end }: { lane: number; site: string; end: number }, found: string[]): string {
    const arrivals = this.#world.arrivalsOf(lane);
    const textsAt = (sequence: number) =>
      factsOf(arrivals.upTo(sequence), site).sessions.map(([key, state]) => `${key} ${state}`);
    const wrong = difference(found, textsAt(end));
    if (wrong === '') return '';
    const keyOf = (text: string) => text.split(' ').slice(0, 3).join(' ');
    const possible = new Set<string>();
    const begun = new Set<string>();
    for (let sequence = end; sequence <= arrivals.last; sequence += 1)
      for (const text of textsAt(sequence)) possible.add(text);
    for (const text of textsAt(end)) begun.add(keyOf(text));
    const keys = found.map(keyOf);
    const isRight =
      found.every((text) => possible.has(text)) &&
      new Set(keys).size === keys.length &&
      [...begun].every((key) => keys.includes(key));
    return isRight ? '' : wrong;
  }
}

interface AskedLane {
  readonly lane: number;
  readonly site: string;
  /** The number acknowledged before the question. */
  readonly least: number;
  /** The number in the stream at the answer. */
  readonly most: number;
}

/** The newest state of each session of hot rows. */
function newestStates(rows: readonly StoredRow[]): Map<string, StoredRow['values']> {
  const newest = new Map<string, StoredRow['values']>();
  for (const { values } of rows) {
    if (values.sign !== 1) continue;
    const known = newest.get(sessionKey(values));
    if (known === undefined || Number(known.version) < Number(values.version))
      newest.set(sessionKey(values), values);
  }
  return newest;
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
