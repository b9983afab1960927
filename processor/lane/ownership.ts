import { randomUUID } from 'node:crypto';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import type { Clock } from '../../infra/clock.ts';
import type { SetAside } from '../fold/set-aside.ts';
import {
  type BegunRestore,
  type Checkpoint,
  type Division,
  decodeLaneRecord,
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  type GrownLane,
  type LaneRecord,
} from './lane-record.ts';
import { retainedSetAside } from './set-aside.ts';

/** Another process owns the lane now. The fenced owner writes nothing more for it. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}

/** Time for which a lane that was given up for one processor is left to it. */
const OFFER_MS = 1_500;
/** Time for which a free lane is left to processors that have less than their share. */
const BEYOND_SHARE_MS = 2_000;

export interface OwnershipOptions {
  readonly records: KeyedBytes;
  readonly lane: number;
  /** Key of its record. */
  readonly key: string;
  /** Division of its state, unless a flush has to be repeated. */
  readonly division: Division;
  readonly owner: string;
  readonly leaseMs: number;
  /** Observations of another owner's lease. */
  readonly watch: LeaseWatch;
  /**
   * Called once the lane is free: whether one more is within the fair share of this processor. If not, others get a moment to take it. Not
   * called for a lane that is recorded under this processor's own name. Without it there is no such limit.
   */
  readonly isWithinShare?: () => boolean;
  /**
   * Number of lanes, in a service that has grown. A lane that is recorded with another number is not taken: this process has yet to hear of
   * the growth.
   */
  readonly grownTo?: number | undefined;
  readonly clock: Clock;
}

/**
 * One lane's record, as its owner sees it. Every write names the revision that it follows, so two owners can never
 * both continue: the bus rejects the second write of the same revision, and its owner stops.
 */
export class Ownership {
  readonly #options: OwnershipOptions;
  #record: LaneRecord;
  #revision: number;
  #queue: Promise<void> = Promise.resolve();
  #writtenAtMs = performance.now();
  /** The processor for which the lane was given up before, and which did not take it. */
  readonly refusedBy: string | undefined;
  /** Set once a write has shown that another process owns the lane. */
  #lost: FencedError | undefined;

  private constructor(
    options: OwnershipOptions,
    record: LaneRecord,
    { revision, refusedBy }: { readonly revision: number; readonly refusedBy: string | undefined },
  ) {
    this.#options = options;
    this.#record = record;
    this.#revision = revision;
    this.refusedBy = refusedBy;
  }

  /** Takes the lane over. Undefined while another process's lease runs, or when another process was faster. */
  static async take(options: OwnershipOptions): Promise<Ownership | undefined> {
    const { records, key, owner, leaseMs, watch, clock, isWithinShare } = options;
    const stored = await records.get(key);
    const found = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
    if (found?.grown?.lanes !== options.grownTo) return undefined;
    const isOurs = found !== undefined && found.owner === owner;
    const isHeld = found !== undefined && !isOurs && found.leaseUntilMs !== 0;
    const isOffered = found?.offeredTo !== undefined && found.offeredTo !== owner;
    const othersMs = isHeld ? leaseMs : isOffered ? OFFER_MS : 0;
    const hasEnded = (ms: number) => watch.hasEnded(stored?.revision ?? 0, ms);
    if (!hasEnded(othersMs)) return undefined;
    if (!isOurs && isWithinShare?.() === false && !hasEnded(othersMs + BEYOND_SHARE_MS)) return undefined;
    const { checkpoint, intent, isClosed, setAside, isRefused, fedFrom, restore, restored, grown } =
      found ?? {
        checkpoint: FIRST_CHECKPOINT,
        intent: null,
        isClosed: false,
        setAside: undefined,
        isRefused: undefined,
        fedFrom: undefined,
        restore: undefined,
        restored: undefined,
        grown: undefined,
      };
    const division = intent === null ? options.division : (found?.division ?? options.division);
    const taken = { owner, incarnation: randomUUID(), leaseUntilMs: clock.nowMs() + leaseMs };
    const kept = { checkpoint, intent, isClosed, setAside, isRefused, fedFrom, restore, restored, grown };
    const record: LaneRecord = { version: 1, division, ...kept, ...taken };
    try {
      // A deleted key still has a revision that the next write follows.
      const revision = await records.put(key, encodeLaneRecord(record), stored?.revision ?? 0);
      return new Ownership(options, record, {
        revision,
        refusedBy: isOffered ? found.offeredTo : undefined,
      });
    } catch (error) {
      if (error instanceof BusError && error.reason === 'conflict') return undefined;
      throw error;
    }
  }

  get checkpoint(): Checkpoint {
    return this.#record.checkpoint;
  }

  get intent(): Checkpoint | null {
    return this.#record.intent;
  }

  /** Division of the lane's state. */
  get division(): Division {
    return this.#record.division;
  }

  /** A restore that was begun and is not known to be complete. */
  get restore(): BegunRestore | undefined {
    return this.#record.restore;
  }

  /** The backup whose rows were adopted, as long as its control records may be missing. */
  get restored(): string | undefined {
    return this.#record.restored;
  }

  /** True if the record has to be written again, because more than a third of the lease has passed. */
  get isRenewalDue(): boolean {
    const isGivenUp = this.#record.owner === '';
    return !isGivenUp && performance.now() - this.#writtenAtMs > this.#options.leaseMs / 3;
  }

  /**
   * Throws if a write, such as a renewal during a flush, has shown that the lane is lost; sends no request.
   * @throws {FencedError}
   */
  confirm(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** Records that the flush leading to `intent` begins. Throws a `FencedError` when the lane is lost. */
  declare(intent: Checkpoint): Promise<void> {
    return this.#write((record) => ({ ...record, intent }));
  }

  /** Records that everything up to `checkpoint` is in the store. */
  complete(checkpoint: Checkpoint): Promise<void> {
    return this.#write((record) => {
      const retained = retainedSetAside(record.setAside ?? [], checkpoint);
      const setAside = retained.length === 0 ? undefined : retained;
      return { ...record, checkpoint, intent: null, setAside, isRefused: undefined, fedFrom: undefined };
    });
  }

  /** Events that are not folded. */
  get setAside(): readonly SetAside[] {
    return this.#record.setAside ?? [];
  }

  /** Records, before the lane continues without them, which events every owner sets aside from now on. */
  addSetAside(entry: SetAside): Promise<void> {
    return this.#write((record) => withSetAside(record, [entry]));
  }

  /** True if the store refuses the declared flush. */
  get isRefused(): boolean {
    return this.#record.isRefused === true;
  }

  /** The first of the refused flushes whose messages the declared one repeats. */
  get fedFrom(): number | undefined {
    return this.#record.fedFrom;
  }

  /** Records that the store refuses the declared flush, and which events every owner sets aside from now on. */
  refuse(entries: readonly SetAside[]): Promise<void> {
    return this.#write((record) => ({ ...withSetAside(record, entries), isRefused: true }));
  }

  /** Records that the refused flush is in the store without rows, and that its messages are the next flush. */
  passRefused(): Promise<void> {
    return this.#write((record) => {
      const { intent, isRefused, checkpoint, fedFrom } = record;
      if (isRefused !== true || intent === null) return record;
      const { flushNumber } = intent;
      const next = flushNumber + 1;
      const forgettings = intent.forgettings.map(
        ([id, last]) => [id, last === flushNumber ? next : last] as const,
      );
      return {
        ...record,
        checkpoint: { ...checkpoint, flushNumber },
        intent: { ...intent, flushNumber: next, forgettings },
        isRefused: undefined,
        fedFrom: fedFrom ?? flushNumber,
      };
    });
  }

  /** Records that rows of a backup take the place of the store's; from now on every owner finishes that first. */
  beginRestore(restore: BegunRestore): Promise<void> {
    return this.#write((record) => ({ ...record, restore }));
  }

  /**
   * Records that the rows are in the store, and that the lane continues from `checkpoint`; `grown` is taken from the source of the rows.
   */
  completeRestore(
    checkpoint: Checkpoint,
    { backupId, grown }: { readonly backupId: string; readonly grown: GrownLane | undefined },
  ): Promise<void> {
    const restored = { restore: undefined, restored: backupId };
    return this.#write((record) => ({ ...record, checkpoint, grown, ...restored }));
  }

  /** Records that the restore was given up before anything was changed. */
  giveUpRestore(): Promise<void> {
    return this.#write((record) => ({ ...record, restore: undefined }));
  }

  /** Records that nothing of the backup is missing any more. */
  settleRestore(): Promise<void> {
    return this.#write((record) => ({ ...record, restored: undefined }));
  }

  /** The lane's place in a service that has grown. */
  get grown(): GrownLane | undefined {
    return this.#record.grown;
  }

  /** Records the lane's place in a service that grows. Everything of the lane must be in the store. */
  grow(grown: GrownLane): Promise<void> {
    return this.#write((record) => ({ ...record, grown }));
  }

  /** Records that nothing is published to the lane any more, and that everything of it is in the store. */
  close(): Promise<void> {
    return this.#write((record) => ({ ...record, isClosed: true }));
  }

  /** Renews the lease. */
  renew(): Promise<void> {
    return this.#write((record) => record);
  }

  /** Gives the lane up, so that the next owner need not wait for the lease to end; `to` may take it first. */
  giveUp(to?: string): Promise<void> {
    return this.#write((record) => ({ ...record, owner: '', leaseUntilMs: 0, offeredTo: to }), 0);
  }

  /** Writes follow each other, since each names the revision of the one before. */
  #write(change: (record: LaneRecord) => LaneRecord, leaseMs = this.#options.leaseMs): Promise<void> {
    const { records, key, clock } = this.#options;
    const written = this.#queue.then(async () => {
      const leaseUntilMs = leaseMs === 0 ? 0 : clock.nowMs() + leaseMs;
      for (let before = this.#record; ; ) {
        const record = { ...change(before), leaseUntilMs };
        try {
          this.#revision = await records.put(key, encodeLaneRecord(record), this.#revision);
        } catch (error) {
          if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
          before = await this.#adopt(error);
          // The answer to an earlier write of ours was lost, such as to a renewal: this one follows it.
          if (!isSame(before, record)) continue;
        }
        this.#record = record;
        this.#writtenAtMs = performance.now();
        return;
      }
    });
    // A failed write is reported to its caller; the next one starts from the last known record.
    this.#queue = written.catch(() => {});
    return written;
  }

  /**
   * The bus rejects the retry of a write whose answer was lost, since the first attempt took effect. If we wrote the stored record, the
   * lane is still ours, and the next write follows it.
   */
  async #adopt(cause: BusError): Promise<LaneRecord> {
    const { records, key, lane } = this.#options;
    const stored = await records.get(key);
    const found = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
    if (stored === undefined || found?.incarnation !== this.#record.incarnation) {
      this.#lost = new FencedError(`lane ${lane} has another owner`, { cause });
      throw this.#lost;
    }
    this.#revision = stored.revision;
    return found;
  }
}

function withSetAside(record: LaneRecord, entries: readonly SetAside[]): LaneRecord {
  const known = record.setAside ?? [];
  const isKnown = (entry: SetAside) =>
    known.some(
      ({ projectId, first, last, withoutEnds }) =>
        projectId === entry.projectId &&
        first === entry.first &&
        last === entry.last &&
        withoutEnds === entry.withoutEnds,
    );
  const added = entries.filter((entry) => !isKnown(entry));
  return added.length === 0 ? record : { ...record, setAside: [...known, ...added] };
}

/** True if two records of one owner are the same, apart from the lease. */
function isSame(one: LaneRecord, other: LaneRecord): boolean {
  return (
    one.owner === other.owner &&
    one.checkpoint.flushNumber === other.checkpoint.flushNumber &&
    one.checkpoint.sequence === other.checkpoint.sequence &&
    one.intent?.flushNumber === other.intent?.flushNumber &&
    one.isClosed === other.isClosed &&
    one.setAside?.length === other.setAside?.length &&
    one.isRefused === other.isRefused &&
    one.fedFrom === other.fedFrom &&
    one.restore?.attempt === other.restore?.attempt &&
    one.restored === other.restored &&
    one.grown?.lanes === other.grown?.lanes
  );
}
