import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../infra/accounts/ids.ts';
import type { Bus } from '../infra/bus/bus.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import { isWithinMinorUnits } from '../infra/money.ts';
import { type LaneLayout, type LaneName, laneNameOf } from '../infra/process/service-lanes.ts';
import type { RowBinaryWriter } from '../infra/store/row-binary.ts';
import { EVENT_HEADER_BYTES, MESSAGE_HEADER_BYTES, streamOf, subjectOf, TIME_MAX_MS } from './event.ts';

/**
 * CONTRACT between the collectors, which write updates of entities, and the processor, which stores the entities:
 * profiles, groups, orders, and tallies of requests that were not recorded. Every entity has one lane and one
 * writer there.
 *
 * A bus message has the head of a message of events (`event.ts`), followed by updates in the order in which they apply:
 *
 *     count × (u32 length, u32 jsonLength, JSON of an `EntityUpdate` without `event`, bytes of the event)
 *
 * The event of an order is encoded as `encodeEvent` does, its length first; other updates have none. The head's version
 * is the version of the updates, too.
 */

/**
 * The right by which an update may change a profile or a group. The owner of the entity decides, in the order of the updates.
 *
 * - `secret`: the sender has a secret. The update applies, and a device that it names becomes the entity's.
 * - `site`: the site lets every browser change profiles and groups. The update applies.
 * - `device`: the update applies if it makes the entity, or comes from one of the entity's devices.
 *
 * Device ids change daily, so a browser's `devices` are its ids of today and yesterday. For a sender with a secret, it is the one that the
 * update is about, or none.
 */
export interface Authority {
  readonly kind: 'secret' | 'site' | 'device';
  readonly devices: readonly string[];
}

/** The authority of a sender with a secret that names no device. */
export const BY_SECRET: Authority = { kind: 'secret', devices: [] };

/** Fields of every update. */
interface UpdateHead {
  readonly projectId: StoredId;
  /** The id of the entity: of the profile, the group, the order. */
  readonly id: string;
  /** The time at which the collector received it. */
  readonly atMs: number;
  /** Idempotency key; empty when there is none. An entity applies the same key once. */
  readonly updateId: string;
}

/** Fields of every update that an entity's devices are asked about. */
interface AuthorizedHead extends UpdateHead {
  readonly authority: Authority;
}

/**
 * Sets the given fields; an absent field stays as it is. `properties` (flat: key, value, …) are merged into the known
 * ones.
 */
export interface IdentifyUpdate extends AuthorizedHead {
  readonly kind: 'identify';
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly avatar?: string;
  readonly properties: readonly string[];
}

/** Adds to a number among a profile's properties. `step` is decimal text with its sign. */
export interface StepUpdate extends AuthorizedHead {
  readonly kind: 'step';
  readonly property: string;
  readonly step: string;
}

/** Makes a profile a member of groups. */
export interface AssignUpdate extends AuthorizedHead {
  readonly kind: 'assign';
  readonly groups: readonly string[];
}

/** Names a device of a profile that exists, and says nothing else. */
export interface DeviceUpdate extends AuthorizedHead {
  readonly kind: 'device';
}

export interface GroupUpdate extends AuthorizedHead {
  readonly kind: 'group';
  readonly type: string;
  readonly name: string;
  /** Flat; merged into the known ones. */
  readonly properties: readonly string[];
}

/** Names a group, so that it exists. A known group stays as it is. */
export interface MentionUpdate extends UpdateHead {
  readonly kind: 'mention';
}

/**
 * An order or a refund of it. The event is recorded in `partition`, with the revenue that the order's entity allows. At
 * most one of `amount` and `minorUnits` is given, the other is empty; a refund without either is a refund of the whole
 * order.
 */
export interface OrderUpdate extends UpdateHead {
  readonly kind: 'order';
  readonly isRefund: boolean;
  /**
   * Major units as decimal text without a sign: for a refund in its order's currency, which the collector does not
   * know.
   */
  readonly amount: string;
  /** Minor units as decimal text without a sign. */
  readonly minorUnits: string;
  /** ISO 4217; empty on a refund: the currency of its order. */
  readonly currency: string;
  /** The lane of the event's device. */
  readonly partition: number;
  readonly event: Uint8Array;
}

/** The number of a site's requests that were understood and not recorded within one hour, for one reason and name. */
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
  | DeviceUpdate
  | GroupUpdate
  | MentionUpdate
  | OrderUpdate
  | TallyUpdate;

/** Largest encoded update in bytes: one from a whole body, or an event with its frame. */
export const ENTITY_UPDATE_MAX_BYTES = 393_216;

/** The kind of the entity that an update changes; with its id, what decides the update's lane (`entityKeyOf`). */
export function entityKindOf(kind: EntityUpdate['kind']): 'profile' | 'group' | 'order' | 'tally' {
  if (kind === 'identify' || kind === 'step' || kind === 'assign' || kind === 'device') return 'profile';
  return kind === 'mention' ? 'group' : kind;
}

/** The JetStream stream of a lane's entity updates. */
export function entityStreamOf(lane: number): string {
  return `lane-${lane}-records`; // The name of the stream on disk.
}

/** The subject of a lane's entity updates. */
export function entitySubjectOf(lane: LaneName): string {
  return `lanes.${lane}.records`;
}

/**
 * Makes the streams of all lanes, if they are missing: of events, and of entity updates. Collectors and processors both do, since
 * either may be the first to start on a bus. `bytesMax` (`BUS_BYTES_MAX`) is shared out among the lanes, so that a service
 * needs the same disk whatever their number is.
 */
export async function ensureLaneStreams(bus: Bus, layout: LaneLayout, bytesMax: number): Promise<void> {
  const ofLane = Math.floor(bytesMax / layout.lanes);
  for (let lane = 0; lane < layout.lanes; lane += 1) {
    const name = laneNameOf(lane, layout);
    await bus.ensureStream(streamOf(lane), subjectOf(name), ofLane);
    await bus.ensureStream(entityStreamOf(lane), entitySubjectOf(name), ofLane);
  }
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
 * The updates of a message, whose head says that there are `count`.
 * @throws {DecodeError}
 */
export function decodeEntityUpdates(message: Uint8Array, count: number): EntityUpdate[] {
  return readEntityUpdates(message, count).map((read) => {
    if (read instanceof DecodeError) throw read;
    return read;
  });
}

/**
 * The updates of a message by position, each of them or why it cannot be read: senders share messages, and one that cannot be read says
 * nothing about the others.
 * @throws {DecodeError} when the message does not say where its updates are
 */
export function readEntityUpdates(message: Uint8Array, count: number): (EntityUpdate | DecodeError)[] {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const updates: (EntityUpdate | DecodeError)[] = [];
  let offset = MESSAGE_HEADER_BYTES;
  for (let index = 0; index < count; index += 1) {
    if (offset + 8 > bytes.length) throw new DecodeError('an update is cut off');
    const end = offset + 4 + bytes.readUInt32LE(offset);
    const jsonEnd = offset + 8 + bytes.readUInt32LE(offset + 4);
    if (end > bytes.length || jsonEnd > end) throw new DecodeError('an update is longer than its message');
    updates.push(readUpdate(bytes.subarray(offset + 8, jsonEnd), bytes.subarray(jsonEnd, end)));
    offset = end;
  }
  if (offset !== bytes.length) throw new DecodeError('a message has bytes behind its updates');
  return updates;
}

function readUpdate(json: Uint8Array, event: Buffer): EntityUpdate | DecodeError {
  try {
    return updateOf(json, event);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const UNSIGNED = /^(?:\d+(?:\.\d+)?)?$/;
/** At most as many digits as `MINOR_UNITS_MAX` has. */
const MINOR_UNITS = /^\d{0,16}$/;
const HOUR_SECONDS_MAX = 0xffffffff;

const text = z.string();
const timeMs = z.int().min(0).max(TIME_MAX_MS);
const flat = z.array(text).refine(({ length }) => length % 2 === 0, 'has a key without a value');
const head = { projectId: storedIdSchema, id: text, atMs: timeMs, updateId: text };
const authority: z.ZodType<Authority> = z.object({
  kind: z.enum(['secret', 'site', 'device']),
  devices: z.array(text),
});
const authorized = { ...head, authority };

// They have the version of the message's head.
const updateSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('identify'),
    ...authorized,
    firstName: text.exactOptional(),
    lastName: text.exactOptional(),
    email: text.exactOptional(),
    avatar: text.exactOptional(),
    properties: flat,
  }),
  z.object({ kind: z.literal('step'), ...authorized, property: text, step: text.regex(DECIMAL) }),
  z.object({ kind: z.literal('assign'), ...authorized, groups: z.array(text) }),
  z.object({ kind: z.literal('device'), ...authorized }),
  z.object({ kind: z.literal('group'), ...authorized, type: text, name: text, properties: flat }),
  z.object({ kind: z.literal('mention'), ...head }),
  z
    .object({
      kind: z.literal('order'),
      ...head,
      isRefund: z.boolean(),
      amount: text.regex(UNSIGNED),
      minorUnits: text.regex(MINOR_UNITS),
      currency: text.regex(/^(?:[A-Z]{3})?$/),
      partition: z.int().min(0),
    })
    .refine(
      ({ amount, currency }) => !DECIMAL.test(amount) || isWithinMinorUnits(amount, currency),
      'has an amount that is too large',
    ),
  z.object({
    kind: z.literal('tally'),
    ...head,
    hourMs: z
      .int()
      .min(0)
      .max(HOUR_SECONDS_MAX * 1000),
    reason: text,
    name: text,
    count: z.int().min(0),
  }),
]);

function updateOf(json: Uint8Array, event: Buffer): EntityUpdate {
  const update = decodeJsonContract(json, { name: 'update', versions: [0], schema: updateSchema });
  if (update.kind !== 'order') {
    if (event.length > 0) throw new DecodeError('an update without an event has bytes behind it');
    return update;
  }
  if (event.length < 4 + EVENT_HEADER_BYTES || event.readUInt32LE(0) !== event.length - 4)
    throw new DecodeError('an order has no event');
  return { ...update, event };
}

/** CONTRACT with the readers of the bucket of aliases: one JSON record for each name that is an alias of another profile. */
export const ALIASES_BUCKET = 'aliases';
const ALIAS_VERSION = 1;

const aliasSchema = z.object({
  projectId: storedIdSchema,
  alias: z.string(),
  profileId: z.string(),
  /** Made by a sender with a secret. Only such an alias says that both names are one person. */
  verified: z.boolean(),
  /** Creation time in ISO 8601; null when a backup of 0.1.0 did not say it. */
  createdAt: z.iso.datetime().nullable(),
});

/** `alias` refers to `profileId` on the site that is stored under `projectId`. */
export type Alias = Readonly<z.output<typeof aliasSchema>>;

/** The key of an alias in the bucket. Ids may contain any characters, but a key may not. */
export function aliasKeyOf({ projectId, alias }: Pick<Alias, 'projectId' | 'alias'>): string {
  return `${aliasKeysOf(projectId)}.${encodedId(alias)}`;
}

/** The prefix of the keys of a site's aliases, up to their dot. */
export function aliasKeysOf(projectId: StoredId): string {
  return encodedId(projectId);
}

function encodedId(id: string): string {
  return Buffer.from(id).toString('base64url');
}

export function encodeAlias(alias: Alias): Uint8Array {
  return Buffer.from(JSON.stringify({ version: ALIAS_VERSION, ...alias }));
}

/** Reads a record; undefined when it cannot be read. */
export function decodeAlias(bytes: Uint8Array): Alias | undefined {
  try {
    return decodeJsonContract(bytes, { name: 'alias', versions: [ALIAS_VERSION], schema: aliasSchema });
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
