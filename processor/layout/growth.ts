import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { withLock } from '../../infra/bus/lock.ts';
import { storedLayout, storeLayout } from '../../infra/process/agreed-lanes.ts';
import { type LaneEnd, storeLaneEnd } from '../../infra/process/lane-ends.ts';
import { type LaneLayout, laneNameOf } from '../../infra/process/service-lanes.ts';
import { ensureLaneStreams, entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { tickMessage } from '../consumer/tick.ts';
import { entityCheckpointKeyOf } from '../entities/entity-checkpoint.ts';
import type { EntityDeps } from '../entities/entity-flush.ts';
import { laneOfEvent } from '../entities/revenue-event.ts';
import type { LaneOptions } from '../lane/lane.ts';
import {
  decodeLaneRecord,
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  freeLaneRecord,
  laneKeyOf,
} from '../lane/lane-record.ts';
import { storedFlushNumbers } from '../lane/load-state.ts';
import { Ownership } from '../lane/ownership.ts';
import { WorkOff } from '../lane/work-off.ts';

/** The key of the lock in the bucket of the lanes. */
const LOCK = 'growth';
/** Time that the others wait for a process that dies while it lets the service grow. */
const LOCK_LEASE_MS = 3_000;
const TAKE_EVERY_MS = 100;
/** Time that the other processors have to stop their lanes. */
const TAKE_MAX_MS = 30_000;
const PUBLISH_TIMEOUT_MS = 10_000;

/** Dependencies of a lane and its entities, which the growth works off. */
export type GrowingLane = Omit<LaneOptions, 'ownership' | 'stream' | 'subject' | 'name' | 'isAlone'> &
  Pick<EntityDeps, 'records' | 'bookLimits'> & {
    readonly entityMetrics: EntityDeps['metrics'];
    readonly entityGauges: EntityDeps['gauges'];
  };

/** Dependencies of the growth; each lane has its own stream, keys and numbers. */
export interface GrowthOptions {
  /** Dependencies of a lane and its entities. */
  readonly ofLane: (lane: number) => GrowingLane;
  readonly laneRecords: KeyedBytes;
  /** The bucket of the layout. */
  readonly layouts: KeyedBytes;
  readonly bytesMax: number;
  /** Time that the other processors have to stop their lanes. */
  readonly takeMaxMs?: number;
}

type OwnedLanes = ReadonlyMap<number, Ownership>;
type Publishers = LaneEnd['records'];

/**
 * Lets a running service grow to more lanes. README.md has the reasons for the order:
 *
 *     lanes stopped ─▶ taken here ─▶ streams renamed ─▶ worked off ─▶ ends and new records stored ─▶ layout stored ─▶ given up
 *
 * Each step can be repeated, also by another process. The lock only keeps two processes from doing it together: the records of the lanes
 * decide their owners.
 */
export class Growth {
  readonly #options: GrowthOptions;
  readonly #workOff = new WorkOff();

  constructor(options: GrowthOptions) {
    this.#options = options;
  }

  /** Ends the work in progress; another process continues it, or this one does after its next start. */
  async stop(): Promise<void> {
    await this.#workOff.stop();
  }

  /** Carries out the stored layout, or waits for another process to do it. Returns the layout that is stored then. */
  grow(): Promise<LaneLayout> {
    const { laneRecords, layouts } = this.#options;
    return withLock(
      laneRecords,
      LOCK,
      async () => {
        const stored = await storedLayout(layouts);
        if (stored === undefined) throw new Error('the bus has lost its layout');
        const { layout, revision } = stored;
        if (layout.growingTo === undefined || this.#workOff.stopping) return layout;
        const grown: LaneLayout = { ...layout, lanes: layout.growingTo, isGrown: true, growingTo: undefined };
        await this.#growTo(layout, grown, revision);
        return (await storedLayout(layouts))?.layout ?? layout;
      },
      { leaseMs: LOCK_LEASE_MS },
    );
  }

  async #growTo(before: LaneLayout, grown: LaneLayout, revision: number): Promise<void> {
    const { log } = this.#options.ofLane(0);
    log.info({ from: before.lanes, to: grown.lanes }, 'the service grows to more lanes');
    const startMs = performance.now();
    const owned = new Map<number, Ownership>();
    const renewing = setInterval(() => this.#renew(owned), this.#options.ofLane(0).config.LEASE_MS / 6);
    try {
      if (!(await this.#takeAll(before, grown, owned))) return await this.#giveUp(before, grown, revision);
      const publishers = await this.#endEntities(before, grown);
      if (publishers === undefined || !(await this.#endEvents(before, grown, owned))) return;
      await this.#storeRecords(before, grown, { owned, publishers });
      await ensureLaneStreams(this.#options.ofLane(0).bus, grown, this.#options.bytesMax);
      await storeLayout(this.#options.layouts, grown, revision);
      const ms = Math.round(performance.now() - startMs);
      log.info({ from: before.lanes, to: grown.lanes, ms }, 'the service has grown');
    } finally {
      clearInterval(renewing);
      await Promise.allSettled([...owned.values()].map((ownership) => ownership.giveUp()));
    }
  }

  #renew(owned: OwnedLanes): void {
    // A lane that is lost is noticed at its next write.
    for (const ownership of owned.values()) if (ownership.isRenewalDue) ownership.renew().catch(() => {});
  }

  /**
   * Takes all lanes, and waits for lanes that other processes have not stopped yet. False if one does not stop in time, or if this is
   * stopped meanwhile.
   */
  async #takeAll(before: LaneLayout, grown: LaneLayout, owned: Map<number, Ownership>): Promise<boolean> {
    const watches = Array.from({ length: before.lanes }, () => new LeaseWatch());
    const endMs = performance.now() + (this.#options.takeMaxMs ?? TAKE_MAX_MS);
    while (!this.#workOff.stopping) {
      for (const [lane, watch] of watches.entries()) {
        // An earlier attempt may already have recorded this lane with the new number of lanes.
        const ownership =
          owned.get(lane) ??
          (await this.#take(lane, watch, before.isGrown ? before.lanes : undefined)) ??
          (await this.#take(lane, watch, grown.lanes));
        if (ownership !== undefined) owned.set(lane, ownership);
      }
      if ([...owned.values()].some(({ restore }) => restore !== undefined)) {
        this.#options.ofLane(0).log.error('the service does not grow: a backup is being restored into it');
        return false;
      }
      if (owned.size === before.lanes) return true;
      if (performance.now() > endMs) {
        const lanes = [...watches.keys()].filter((lane) => !owned.has(lane));
        const { log } = this.#options.ofLane(0);
        log.error(
          { lanes },
          'the service does not grow: another processor does not stop these lanes; is it of another release?',
        );
        return false;
      }
      await sleep(TAKE_EVERY_MS);
    }
    return false;
  }

  /**
   * Lets all lanes continue as before, under the old names. Not when this process stops, since another one continues the growth; nor when
   * an earlier attempt has already divided a lane, since then there is only the way forward.
   */
  async #giveUp(before: LaneLayout, grown: LaneLayout, revision: number): Promise<void> {
    if (this.#workOff.stopping || (await this.#isDivided(before, grown))) return;
    const { bus } = this.#options.ofLane(0);
    for (let lane = 0; lane < before.lanes; lane += 1) {
      const name = laneNameOf(lane, before);
      await bus.renameSubject(streamOf(lane), subjectOf(name));
      await bus.renameSubject(entityStreamOf(lane), entitySubjectOf(name));
    }
    await storeLayout(this.#options.layouts, { ...before, growingTo: undefined }, revision);
  }

  async #isDivided(before: LaneLayout, grown: LaneLayout): Promise<boolean> {
    for (let lane = 0; lane < before.lanes; lane += 1) {
      const stored = await this.#options.laneRecords.get(laneKeyOf(lane));
      if (stored?.bytes !== undefined && decodeLaneRecord(stored.bytes).grown?.lanes === grown.lanes)
        return true;
    }
    return false;
  }

  #take(lane: number, watch: LeaseWatch, grownTo: number | undefined): Promise<Ownership | undefined> {
    const { config, clock, threads } = this.#options.ofLane(lane);
    return Ownership.take({
      records: this.#options.laneRecords,
      lane,
      key: laneKeyOf(lane),
      division: { slices: Math.min(threads.length, config.PARTITIONS), partitions: config.PARTITIONS },
      owner: config.INSTANCE,
      leaseMs: config.LEASE_MS,
      watch,
      grownTo,
      clock,
    });
  }

  /**
   * Updates come first, because they publish revenue to the lanes of events. Returns the publishers of each lane; undefined when this is
   * stopped meanwhile.
   */
  async #endEntities(before: LaneLayout, grown: LaneLayout): Promise<readonly Publishers[] | undefined> {
    for (let lane = 0; lane < before.lanes; lane += 1)
      await this.#rename(lane, entityStreamOf(lane), entitySubjectOf(laneNameOf(lane, grown)));
    const eventSubjectOf = (recorded: number, event: Uint8Array) => {
      const home = before.isGrown ? laneOfEvent(event, before) : recorded % before.lanes;
      return subjectOf(laneNameOf(home, before));
    };
    const publishers: Publishers[] = [];
    for (let lane = 0; lane < before.lanes && !this.#workOff.stopping; lane += 1) {
      const { entityMetrics: metrics, entityGauges: gauges, ...options } = this.#options.ofLane(lane);
      const checkpoint = await this.#workOff.entities({
        ...{ ...options, metrics, gauges, lane, name: lane, eventSubjectOf },
        stream: entityStreamOf(lane),
        subject: entitySubjectOf(laneNameOf(lane, grown)),
        checkpointKey: entityCheckpointKeyOf(lane),
      });
      publishers.push(checkpoint.publishers);
    }
    return this.#workOff.stopping ? undefined : publishers;
  }

  /** False when this is stopped meanwhile. */
  async #endEvents(before: LaneLayout, grown: LaneLayout, owned: OwnedLanes): Promise<boolean> {
    for (let lane = 0; lane < before.lanes; lane += 1)
      await this.#rename(lane, streamOf(lane), subjectOf(laneNameOf(lane, grown)));
    for (const [lane, ownership] of owned) {
      if (this.#workOff.stopping) return false;
      await this.#workOff.events({
        ...this.#options.ofLane(lane),
        ...{ lane, name: lane, ownership, isAlone: before.lanes === 1 },
        stream: streamOf(lane),
        subject: subjectOf(laneNameOf(lane, grown)),
      });
    }
    return !this.#workOff.stopping;
  }

  /**
   * Gives a stream its new name; from then on, it stores nothing sent to its old name. Messages sent to the old name earlier are stored
   * before the message sent here.
   */
  async #rename(lane: number, stream: string, subject: string): Promise<void> {
    const { bus, crashPoint } = this.#options.ofLane(lane);
    await bus.renameSubject(stream, subject);
    crashPoint('growth:after-rename');
    const publisherId = randomBytes(8).readBigUInt64LE();
    const tick = tickMessage({ publisherId, publisherSequence: 1, sentAtMs: 0 });
    await bus.publish(subject, tick, PUBLISH_TIMEOUT_MS);
  }

  /** Stores each lane's place in the grown service and, for collectors, which of their messages each old lane has taken. */
  async #storeRecords(
    before: LaneLayout,
    grown: LaneLayout,
    { owned, publishers }: { readonly owned: OwnedLanes; readonly publishers: readonly Publishers[] },
  ): Promise<void> {
    const { laneRecords, layouts } = this.#options;
    const flushNumbers = await this.#storedFlushNumbers(before);
    for (const [lane, ownership] of owned) {
      const { checkpoint } = ownership;
      const events = checkpoint.publishers.map(([publisher, sequence]) => [publisher, sequence] as const);
      await storeLaneEnd(layouts, laneNameOf(lane, before), { events, records: publishers[lane] ?? [] });
      if (ownership.grown?.lanes === grown.lanes) continue;
      // A service's only lane restores the rows of all that are in the store (`RestorePoint`).
      const alone = [...flushNumbers].filter(([partition]) => partition !== lane);
      const earlier = ownership.grown?.before ?? (before.lanes === 1 ? alone : []);
      const flushes = [...earlier, [lane, checkpoint.flushNumber] as const];
      // The new lanes first: a lane recorded with the new number counts as divided.
      for (let other = lane + before.lanes; other < grown.lanes; other += before.lanes) {
        const key = laneKeyOf(other);
        const flushNumber = flushNumbers.get(other) ?? 0;
        const record = freeLaneRecord(
          { ...FIRST_CHECKPOINT, flushNumber, clockMs: checkpoint.clockMs },
          { lanes: grown.lanes, before: flushes },
        );
        await laneRecords.put(key, encodeLaneRecord(record), (await laneRecords.get(key))?.revision ?? 0);
      }
      await ownership.grow({ lanes: grown.lanes, before: flushes });
      this.#options.ofLane(lane).crashPoint('growth:after-lane');
    }
  }

  /** Asks every shard of the store, because a lane has its rows in one of them. */
  async #storedFlushNumbers({ storeShards }: LaneLayout): Promise<ReadonlyMap<number, number>> {
    const shards = Array.from({ length: storeShards }, (_, shard) => this.#options.ofLane(shard).store);
    const found = await Promise.all(shards.map(storedFlushNumbers));
    return new Map(found.flatMap((numbers) => [...numbers]));
  }
}
