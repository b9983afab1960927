import { randomUUID } from 'node:crypto';
import { teamKeyOf } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { KeyedBytes, KeyedValue } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { AUDIT_ENTRY_VERSION, type AuditEntry, decodeAuditEntry, encodeAuditEntry } from './audit-entry.ts';

const BUCKET = 'audit';
/** Maximum age of a stored entry. */
export const AUDIT_AGE_MAX_MS = 400 * DAY_MS;
const ATTEMPTS_MAX = 50;
const CONCURRENT_READS = 64;

/** The lists of a team: changes, and a client's attempts that were not allowed. */
export const AUDIT_LISTS = ['changes', 'rejected'] as const;
export type AuditList = (typeof AUDIT_LISTS)[number];

/** Maximum number of entries of each list in a team: the next one replaces the oldest. */
export interface AuditLimits extends Readonly<Record<AuditList, number>> {
  /** Maximum number of entries examined for one page, 30 µs of CPU time each; if few of them match, the page is short. */
  readonly scanned: number;
}
export const AUDIT_LIMITS: AuditLimits = { changes: 10_000, rejected: 2_000, scanned: 512 };

/** The facts known before an action begins. */
export type AuditedAction = Pick<
  AuditEntry,
  'actor' | 'clientId' | 'clientName' | 'action' | 'projectId' | 'ids' | 'fields'
>;

/** The facts known once an action has ended. */
export type AuditOutcome = Pick<AuditEntry, 'status' | 'projectId' | 'made' | 'profileDigest'>;

/** An action that has begun, and the place of its entry. */
export interface BegunAction {
  readonly key: string;
  readonly entry: AuditEntry;
  readonly revision: number;
}

/** A page of entries, from the newest to the oldest. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The number in front of which the next page begins; undefined on the last one. */
  readonly next: number | undefined;
}

interface RingHead {
  /** The number of the next entry. */
  readonly next: number;
  readonly revision: number;
}

/**
 * The audit log: one entry for each action, in a bucket of the bus. An entry is written before its action begins, and again
 * with the outcome before the action is answered. So an action answered as done has its entry, an action whose
 * entry cannot be written does not happen, and an interrupted action has an entry without a status.
 *
 *     next.<team>.<list>            the number of the next entry
 *     entry.<team>.<list>.<place>   the entry whose number, modulo the limit of the list, is this place
 *
 * The bus holds it, not the store, because actions do not need the store, which can be unavailable. A ring of places, and not
 * a stream, bounds each team by itself, holds one value for an action although it is written twice, and is read from its
 * newest entry backwards without an index.
 */
export class AuditLog {
  readonly #bucket: KeyedBytes;
  readonly #clock: Clock;
  readonly #limits: AuditLimits;
  /** By list of a team. A stale one costs a conflict. */
  readonly #heads = new Map<string, RingHead>();
  /** By list of a team, the last number that is being taken: this process takes one at a time. */
  readonly #taking = new Map<string, Promise<unknown>>();

  private constructor(bucket: KeyedBytes, clock: Clock, limits: AuditLimits) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#limits = limits;
  }

  static async open(bus: Bus, clock: Clock, limits: AuditLimits = AUDIT_LIMITS): Promise<AuditLog> {
    const bucket = await bus.keyed(BUCKET, { storage: 'file', maxAgeMs: AUDIT_AGE_MAX_MS });
    return new AuditLog(bucket, clock, limits);
  }

  /** Logs that an action begins. Throws a `BusError` when that cannot be stored; the action must not happen then. */
  async begin(teamId: string, action: AuditedAction): Promise<BegunAction> {
    return this.#write(teamId, 'changes', { ...action, status: null, made: null, profileDigest: null });
  }

  /** Logs the outcome of an action. Throws a `BusError` if it cannot be stored. */
  async end(begun: BegunAction, outcome: AuditOutcome): Promise<void> {
    const entry = { ...begun.entry, ...outcome };
    try {
      await this.#bucket.put(begun.key, encodeAuditEntry(entry), begun.revision);
    } catch (error) {
      // On a conflict, the list has wrapped around and a later action has taken this entry's place.
      if (!isConflict(error)) throw error;
    }
  }

  /** Logs a client's rejected attempt. Throws a `BusError` if it cannot be stored. */
  async rejected(teamId: string, action: AuditedAction, status: number): Promise<void> {
    await this.#write(teamId, 'rejected', { ...action, status, made: null, profileDigest: null });
  }

  /** The newest entries with a number below `before` for which `isWanted`. */
  async page(
    teamId: string,
    list: AuditList,
    {
      before,
      limit,
      isWanted,
    }: {
      readonly before: number;
      readonly limit: number;
      readonly isWanted: (entry: AuditEntry) => boolean;
    },
  ): Promise<AuditPage> {
    const ring = ringOf(teamId, list);
    const { next } = await this.#headOf(ring);
    const end = Math.max(0, next - this.#limits[list]);
    const entries: AuditEntry[] = [];
    const start = Math.min(before, next);
    for (let from = start; from > end; ) {
      if (start - from >= this.#limits.scanned) return { entries, next: from };
      const count = Math.min(CONCURRENT_READS, this.#limits.scanned, from - end);
      const numbers = Array.from({ length: count }, (_, index) => from - 1 - index);
      for (const entry of await Promise.all(numbers.map((number) => this.#read(ring, list, number)))) {
        if (entry === undefined || !isWanted(entry)) continue;
        if (entries.length === limit) return { entries, next: entry.number + 1 };
        entries.push(entry);
      }
      from -= count;
    }
    return { entries, next: undefined };
  }

  async #write(
    teamId: string,
    list: AuditList,
    action: Omit<AuditEntry, 'version' | 'number' | 'id' | 'at'>,
  ): Promise<BegunAction> {
    const ring = ringOf(teamId, list);
    const number = await this.#takeNumber(ring);
    const at = new Date(this.#clock.nowMs()).toISOString();
    const entry: AuditEntry = { version: AUDIT_ENTRY_VERSION, number, id: randomUUID(), at, ...action };
    const key = this.#keyOf(ring, list, number);
    const bytes = encodeAuditEntry(entry);
    let isFree = number < this.#limits[list];
    const revision = await this.#untilStored(async () => {
      const before = isFree ? undefined : await this.#bucket.get(key);
      isFree = false; // After a conflict, look.
      return this.#bucket.put(key, bytes, before?.revision ?? 0);
    });
    return { key, entry, revision };
  }

  /** A number that no other entry of the list has. */
  async #takeNumber(ring: string): Promise<number> {
    const earlier = this.#taking.get(ring) ?? Promise.resolve();
    const taken = earlier.then(() =>
      this.#untilStored(async () => {
        const head = this.#heads.get(ring) ?? (await this.#headOf(ring));
        this.#heads.delete(ring);
        const next = head.next + 1;
        const revision = await this.#bucket.put(
          headKeyOf(ring),
          Buffer.from(JSON.stringify({ next })),
          head.revision,
        );
        this.#heads.set(ring, { next, revision });
        return head.next;
      }),
    );
    const settled = taken.catch(() => {}); // The caller gets the error; the next one begins anew.
    this.#taking.set(ring, settled);
    try {
      return await taken;
    } finally {
      if (this.#taking.get(ring) === settled) this.#taking.delete(ring);
    }
  }

  async #headOf(ring: string): Promise<RingHead> {
    const stored = await this.#bucket.get(headKeyOf(ring));
    if (stored?.bytes === undefined) return { next: 0, revision: stored?.revision ?? 0 };
    return { next: nextOf(stored.bytes), revision: stored.revision };
  }

  /** Undefined for an entry that is too old, not written yet, or was never completed. */
  async #read(ring: string, list: AuditList, number: number): Promise<AuditEntry | undefined> {
    const stored = await this.#bucket.get(this.#keyOf(ring, list, number));
    const entry = entryOf(stored);
    return entry?.number === number ? entry : undefined;
  }

  #keyOf(ring: string, list: AuditList, number: number): string {
    return `entry.${ring}.${number % this.#limits[list]}`;
  }

  /** Repeats a write after each conflict. */
  async #untilStored<Result>(write: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await write();
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }
}

function ringOf(teamId: string, list: AuditList): string {
  return `${teamKeyOf(teamId).slice('team.'.length)}.${list}`;
}

function headKeyOf(ring: string): string {
  return `next.${ring}`;
}

function nextOf(bytes: Uint8Array): number {
  const { next } = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!Number.isSafeInteger(next) || next < 0)
    throw new DecodeError('audit log: the number of an entry is invalid');
  return next;
}

/** An entry that cannot be read, of a later release for example, is left out. */
function entryOf(stored: KeyedValue | undefined): AuditEntry | undefined {
  if (stored?.bytes === undefined) return undefined;
  try {
    return decodeAuditEntry(stored.bytes);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof BusError && error.reason === 'conflict';
}
