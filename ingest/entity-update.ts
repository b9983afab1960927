import { z } from 'zod';
import type { RowBinaryWriter } from '../infra/store/row-binary.ts';
import { DecodeError, MESSAGE_HEADER_BYTES } from './event.ts';

/**
 * CONTRACT between the collectors, which write updates of records, and the processor, which keeps the records: profiles,
 * groups, orders, and tallies of what was not recorded. Every record has one partition and one writer there.
 *
 * A bus message has the head of a message of events (`event.ts`); behind it stand updates, in the order in which they
 * apply:
 *
 *     count × (u32 length, u32 jsonLength, JSON of a `EntityUpdate` without `event`, bytes of the event)
 *
 * The event of an order is encoded as `encodeEvent` does, its length first; other updates have none.
 */

/** What every update says. */
interface UpdateHead {
  readonly projectId: string;
  /** Of the record: the profile, the group, the order. */
  readonly id: string;
  /** When the collector saw it. */
  readonly atMs: number;
  /** Idempotency key; empty when there is none. The same one applies once to a record. */
  readonly updateId: string;
}

/** Sets what is given; an absent field stays as it is. `properties` (flat: key, value, …) merge into those known. */
export interface IdentifyUpdate extends UpdateHead {
  readonly kind: 'identify';
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly avatar?: string;
  readonly properties: readonly string[];
}

/** Adds to a number among a profile's properties. `step` is decimal text with its sign. */
export interface StepUpdate extends UpdateHead {
  readonly kind: 'step';
  readonly property: string;
  readonly step: string;
}

/** Makes a profile a member of groups. */
export interface AssignUpdate extends UpdateHead {
  readonly kind: 'assign';
  readonly groups: readonly string[];
}

export interface GroupUpdate extends UpdateHead {
  readonly kind: 'group';
  readonly type: string;
  readonly name: string;
  /** Flat; they merge into those known. */
  readonly properties: readonly string[];
}

/**
 * An order or a refund of it. The event is recorded with the revenue that the order's record allows, and goes to
 * `partition` then. Of `amount` and `minorUnits` at most one is given, the other is empty; a refund without either is
 * one of the whole order.
 */
export interface OrderUpdate extends UpdateHead {
  readonly kind: 'order';
  readonly isRefund: boolean;
  /** Major units as decimal text without a sign: a refund whose currency is its order's, which is not known here. */
  readonly amount: string;
  /** Minor units as decimal text without a sign. */
  readonly minorUnits: string;
  /** ISO 4217; empty on a refund: its order's. */
  readonly currency: string;
  /** Of the event's device. */
  readonly partition: number;
  readonly event: Uint8Array;
}

/** So many requests of a site were understood and not recorded, within one hour. */
export interface TallyUpdate extends UpdateHead {
  readonly kind: 'tally';
  readonly hourMs: number;
  readonly reason: string;
  readonly name: string;
  readonly count: number;
}

export type EntityUpdate =
  | IdentifyUpdate
  | StepUpdate
  | AssignUpdate
  | GroupUpdate
  | OrderUpdate
  | TallyUpdate;

/** Largest encoded update: that of a body, or of an event with its frame. */
export const ENTITY_UPDATE_MAX_BYTES = 393_216;

/** The JetStream stream of a partition's record updates. */
export function entityStreamOf(partition: number): string {
  return `records-${partition}`; // The name that the stream has on disk.
}

/** The subject that a partition's record updates are published on. */
export function entitySubjectOf(partition: number): string {
  return `records.${partition}`;
}

/** Appends one update, length first, to a message under construction. */
export function encodeEntityUpdate(writer: RowBinaryWriter, update: EntityUpdate): void {
  const start = writer.length;
  writer.u32(0);
  const json = Buffer.from(
    update.kind === 'order' ? JSON.stringify({ ...update, event: '' }) : JSON.stringify(update),
  );
  writer.u32(json.length);
  writer.raw(json, 0, json.length);
  if (update.kind === 'order') writer.raw(update.event, 0, update.event.length);
  writer.patchU32(start, writer.length - start - 4);
}

/**
 * The updates of a message, whose head says that there are `count`. Throws a `DecodeError` when they cannot be read.
 * What is inside of them is what a collector wrote, and is believed.
 */
export function decodeEntityUpdates(message: Uint8Array, count: number): EntityUpdate[] {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const updates: EntityUpdate[] = [];
  let offset = MESSAGE_HEADER_BYTES;
  for (let index = 0; index < count; index += 1) {
    if (offset + 8 > bytes.length) throw new DecodeError('an update is cut off');
    const end = offset + 4 + bytes.readUInt32LE(offset);
    const jsonEnd = offset + 8 + bytes.readUInt32LE(offset + 4);
    if (end > bytes.length || jsonEnd > end) throw new DecodeError('an update is longer than its message');
    updates.push(updateOf(bytes.toString('utf8', offset + 8, jsonEnd), bytes.subarray(jsonEnd, end)));
    offset = end;
  }
  if (offset !== bytes.length) throw new DecodeError('a message has bytes behind its updates');
  return updates;
}

const KINDS: readonly unknown[] = ['identify', 'step', 'assign', 'group', 'order', 'tally'];

function updateOf(json: string, event: Buffer): EntityUpdate {
  let update: EntityUpdate;
  try {
    update = JSON.parse(json) as EntityUpdate;
  } catch {
    throw new DecodeError('an update is no JSON');
  }
  if (!KINDS.includes(update?.kind)) throw new DecodeError('an update has an unknown kind');
  return update.kind === 'order' ? { ...update, event } : update;
}

/** CONTRACT with whoever reads the bucket of aliases: one record for each name that stands for another profile. */
export const ALIASES_BUCKET = 'aliases';

const aliasSchema = z.strictObject({ projectId: z.string(), alias: z.string(), profileId: z.string() });

/** `alias` stands for `profileId` on a site, `projectId` being what that is stored under. */
export type Alias = Readonly<z.output<typeof aliasSchema>>;

/** Reads a record; undefined when it is none. */
export function decodeAlias(bytes: Uint8Array): Alias | undefined {
  try {
    return aliasSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined;
  }
}
