import { createHash } from 'node:crypto';
import type { SentId, StoredId } from '../infra/accounts/ids.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { FNV_PRIME, hashText, mixed } from '../infra/hash/fnv.ts';
import type { LaneLayout, LaneName } from '../infra/process/service-lanes.ts';
import type { RowBinaryWriter } from '../infra/store/row-binary.ts';
import { type ShardCount, storeShardOf } from '../infra/store/shard-of.ts';

/**
 * CONTRACT between the collectors, which write events, and the processor, which reads them.
 *
 * A bus message is a group of events of one lane:
 *
 *     u8 version │ u64 publisherId │ f64 publisherSequence │ f64 sentAtMs │ u32 count │ count × (u32 length, event)
 *
 * One publisher has one message in flight per lane and numbers them upwards from 1, so that a message that was
 * sent twice is recognised for ever by (publisherId, publisherSequence). A message of no events is a tick: it only
 * moves the lane's clock.
 *
 * An event is a header, which is all that the fold needs to place it, and its row, encoded once:
 *
 *     u8 flags │ f64 occurredAtMs │ f64 receivedAtMs │ 16 bytes sessionId hint │ row
 *
 * The row is RowBinary in the order of `EVENT_COLUMNS`. The runs `page`, `source` and `setting` are contiguous in it, and
 * a session takes them over byte for byte from its first event.
 * All numbers are little-endian.
 *
 * A message of another version is rejected and becomes a dead letter. Events also wait in the store: an order's entity stores the events of early
 * refunds as they were encoded, and publishes them later.
 */
export const EVENT_VERSION = 1;
/** The oldest version of messages that is read. */
const EVENT_VERSION_FIRST = 1;

/** Events of one device with no longer gap than this are one session. */
export const SESSION_GAP_MS = 1_800_000;

export const SCREEN_VIEW = 'screen_view';
export const SESSION_START = 'session_start';
export const SESSION_END = 'session_end';
export const REVENUE = 'revenue';

/** Largest encoded event in bytes; a body has at most 64 KiB, which escapes and repeats can only make smaller. */
export const EVENT_MAX_BYTES = 262_144;

export const FLAG_SCREEN_VIEW = 1;
/** The event belongs to a device's session. */
export const FLAG_IN_SESSION = 2;
export const FLAG_EVENT_ID = 4;
/** The row's `revenue` counts, though it may be zero. */
export const FLAG_REVENUE = 8;
/** The session of the hint has ended: unless it reaches the event, the event only adds its revenue to it. */
export const FLAG_CREDIT = 16;
/**
 * The session of the hint was answered for certain: the event is stored in it even if another session reaches the event. 32 means nothing:
 * events that wait in a backup of 0.1.0 have it.
 */
export const FLAG_CERTAIN = 64;

/** Columns of a `Source`, in the order of its bytes: the run `source` of a row. */
export const SOURCE_COLUMNS = [
  'referrer',
  'referrerName',
  'referrerType',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
  'channel',
] as const;

/** The last columns of an `Environment`. */
export const LOCALE_COLUMNS = ['language', 'timezone', 'screen'] as const;

/** Columns of an `Environment`: the run `setting` of a row. */
export const ENVIRONMENT_COLUMNS = [
  'country',
  'region',
  'city',
  'longitude',
  'latitude',
  'browser',
  'browserVersion',
  'os',
  'osVersion',
  'device',
  'brand',
  'model',
  ...LOCALE_COLUMNS,
] as const;

/** Columns of an event row, in the order of its bytes. The store's `events` table has them in this order. */
export const EVENT_COLUMNS = [
  'projectId',
  'deviceId',
  'profileId',
  'eventId',
  'revenue',
  'currency',
  'orderId',
  'name',
  'createdAt',
  'receivedAt',
  // page
  'origin',
  'path',
  // pageEnd
  'query',
  'hash',
  'title',
  ...SOURCE_COLUMNS,
  ...ENVIRONMENT_COLUMNS,
  'groups',
  'properties',
  'sdkName',
  'sdkVersion',
] as const;

/** The source of a visit. All texts; empty when unknown. */
export interface Source {
  readonly referrer: string;
  readonly referrerName: string;
  readonly referrerType: string;
  readonly utmSource: string;
  readonly utmMedium: string;
  readonly utmCampaign: string;
  readonly utmTerm: string;
  readonly utmContent: string;
  readonly channel: string;
}

/** Location, device and locale of a visit. Texts are empty and coordinates 0 when unknown. */
export interface Environment {
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly longitude: number;
  readonly latitude: number;
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly device: string;
  readonly brand: string;
  readonly model: string;
  /** A BCP 47 tag, such as `de-DE`. */
  readonly language: string;
  /** An IANA name, such as `Europe/Berlin`. */
  readonly timezone: string;
  /** CSS pixels, such as `1920x1080`. */
  readonly screen: string;
}

/** A source without any known facts. */
export const NO_SOURCE: Source = {
  referrer: '',
  referrerName: '',
  referrerType: '',
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  channel: '',
};

/** An environment without any known facts. */
export const NO_ENVIRONMENT: Environment = {
  country: '',
  region: '',
  city: '',
  longitude: 0,
  latitude: 0,
  browser: '',
  browserVersion: '',
  os: '',
  osVersion: '',
  device: '',
  brand: '',
  model: '',
  language: '',
  timezone: '',
  screen: '',
};

/** A hash of a visitor and the day's salt, or the device that the sender names. */
export type DeviceId = SentId<'DeviceId'>;
/** The name that a customer has for a person; empty when the person is not known. */
export type ProfileId = SentId<'ProfileId'>;

/** One recorded thing, complete but for what only the fold knows. */
export interface Event {
  /** The site's `storedId`, not its public id. So it is in everything that is made of events: messages, rows, states and questions. */
  readonly projectId: StoredId;
  /** Empty when the event belongs to no device; then it has no session either. */
  readonly deviceId: DeviceId;
  readonly profileId: ProfileId;
  readonly eventId: string;
  readonly name: string;
  readonly occurredAtMs: number;
  readonly receivedAtMs: number;
  /** The session that the answer named; empty when the event has none. 32 hexadecimal digits. */
  readonly sessionId: string;
  /**
   * The session had ended when the event came: a late payment is credited to it, and changes neither its times nor its
   * pages.
   */
  readonly credit: boolean;
  /** The answer is the session's id for certain, and not one that was derived because its owner was silent. */
  readonly certain: boolean;
  /** Minor units of `currency`; negative for a refund. Undefined when the event is no revenue. */
  readonly revenue: bigint | undefined;
  readonly currency: string;
  readonly orderId: string;
  readonly origin: string;
  readonly path: string;
  readonly query: string;
  readonly hash: string;
  readonly title: string;
  readonly source: Source;
  readonly environment: Environment;
  readonly groups: readonly string[];
  /** Flat: dotted keys and text values, alternating. */
  readonly properties: readonly string[];
  readonly sdkName: string;
  readonly sdkVersion: string;
}

/** The last millisecond that the store's times can hold: the end of the year 2299. */
export const TIME_MAX_MS = 10_413_791_999_999;

export const EVENT_HEADER_BYTES = 1 + 8 + 8 + 16;
export const MESSAGE_HEADER_BYTES = 1 + 8 + 8 + 8 + 4;
const NO_SESSION = '00000000000000000000000000000000';

/**
 * The number of lanes of a service whose `LANES` was never set (`infra/process/agreed-lanes.ts`). A lane carries all work of one processor:
 * one stream of events, one of entity updates, one checkpoint, one insert for each table. Its number is called `partition` in rows and
 * records. Its content is divided into partitions (`PARTITIONS`), which cost nothing on the way.
 */
export const LANES_DEFAULT = 1;

/** The JetStream stream of a lane. */
export function streamOf(lane: number): string {
  return `lane-${lane}-events`;
}

/** The subject that a lane's events are published on. */
export function subjectOf(lane: LaneName): string {
  return `lanes.${lane}.events`;
}

/** The settings that decide the lane of a device. */
export type LaneSpread = Pick<LaneLayout, 'lanes' | 'storeShards'>;

/** The lane that a device's events go to. `key` is the device, or its substitute on events without one. */
export function laneOf(projectId: StoredId, key: string, spread: LaneSpread): number {
  return spread.lanes === 1 ? 0 : laneHashOf(projectId, key, spread) % spread.lanes;
}

/**
 * The hash that decides the lane, for any number of lanes: the lane is the hash modulo their number. A lane has sites of only one shard of
 * the store (`storeShardOfLane`), so a flush is one block of one shard. A service that grows keeps this, because the
 * number of lanes is a multiple of the number of shards. An integer below 2³⁷.
 */
export function laneHashOf(projectId: StoredId, key: string, spread: ShardCount): number {
  const hash = deviceHashOf(projectId, key);
  const { storeShards } = spread;
  return storeShards === 1 ? hash : storeShardOf(projectId, spread) + storeShards * hash;
}

/** An unsigned number of 32 bits, whose spread over a few dozen lanes is even enough (event.test.ts). */
function deviceHashOf(projectId: StoredId, key: string): number {
  const site = Math.imul(hashText(projectId) ^ 0xff, FNV_PRIME);
  return mixed(hashText(key, site));
}

/** The key that decides an event's lane: its device; without one its own id, so that a repeat meets the first. */
export function routingKeyOf(event: Pick<Event, 'deviceId' | 'eventId' | 'profileId'>): string {
  return event.deviceId || event.eventId || event.profileId;
}

/** The greatest `turn` of a session's id. */
export const SESSION_ID_TURNS_MAX = 255;

/**
 * The id of a session that an event of `occurredAtMs` opens at `nowMs`: 32 hexadecimal digits, the same on every node.
 * Time is cut into slots as long as the gap; all numbers are big-endian.
 *
 *     u32 slot of occurredAtMs │ u32 slot of nowMs, less the first, in the upper byte the turn
 *       │ 8 bytes of sha256(site, device, slot, difference)
 *
 * No two sessions have one id. Two of one device with both slots alike would have been opened less than a gap apart.
 * Then the first is still in memory when the second is to open, since a session is retained for at least a gap. If it
 * reaches the second's event, the event joins it; if not, because a late event opened it, the owner grants the id of the
 * next `turn`. The clocks of nodes may differ by as much as that time is longer than the gap. Only a session that is
 * evicted early, because too many are open, leaves its id to another.
 *
 * The slots come first because the store sorts the sessions of an hour by their ids: there the first eight bytes
 * repeat, and an id takes half the room. The last eight are a hash.
 */
export function sessionIdOf(
  projectId: StoredId,
  deviceId: DeviceId,
  occurredAtMs: number,
  nowMs: number,
  turn = 0,
): string {
  const slot = Math.floor(occurredAtMs / SESSION_GAP_MS);
  // Added, not joined by bits: an event ahead of its arrival has a negative difference.
  const difference = Math.floor(nowMs / SESSION_GAP_MS) - slot + turn * 0x100_0000;
  const slots = Buffer.alloc(8);
  slots.writeUInt32BE(slot >>> 0, 0);
  slots.writeUInt32BE(difference >>> 0, 4);
  const hash = createHash('sha256').update(`${projectId}\n${deviceId}\n${slot}\n${difference}`).digest('hex');
  return slots.toString('hex') + hash.slice(0, 16);
}

/** Appends one event, length first, to a message under construction. */
export function encodeEvent(writer: RowBinaryWriter, event: Event): void {
  const start = writer.length;
  writer.u32(0);
  writer.u8(flagsOf(event));
  writer.f64(event.occurredAtMs);
  writer.f64(event.receivedAtMs);
  writer.hex(event.sessionId === '' ? NO_SESSION : event.sessionId);
  writeIdentity(writer, event);
  writer.string(event.origin);
  writer.string(event.path);
  writer.string(event.query);
  writer.string(event.hash);
  writer.string(event.title);
  writeSource(writer, event.source);
  writeEnvironment(writer, event.environment);
  writer.stringArray(event.groups);
  writer.stringMap(event.properties);
  writer.string(event.sdkName);
  writer.string(event.sdkVersion);
  writer.patchU32(start, writer.length - start - 4);
}

/** Starts a message; `endMessage` ends it. */
export function beginMessage(writer: RowBinaryWriter, message: Omit<MessageHead, 'version' | 'count'>): void {
  writer.u8(EVENT_VERSION);
  writer.u64(message.publisherId);
  writer.f64(message.publisherSequence);
  writer.f64(message.sentAtMs);
  writer.u32(0);
}

/** Writes the number of events into a message begun at the writer's offset 0. */
export function endMessage(writer: RowBinaryWriter, count: number): void {
  writer.patchU32(MESSAGE_HEADER_BYTES - 4, count);
}

export interface MessageHead {
  readonly version: number;
  /** Random, one per publisher's life. */
  readonly publisherId: bigint;
  readonly publisherSequence: number;
  readonly sentAtMs: number;
  readonly count: number;
}

/**
 * Reads a message's head.
 * @throws {DecodeError}
 */
export function decodeMessageHead(bytes: Uint8Array): MessageHead {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < MESSAGE_HEADER_BYTES) throw new DecodeError('message is shorter than its head');
  const version = view.getUint8(0);
  if (version < EVENT_VERSION_FIRST || version > EVENT_VERSION)
    throw new DecodeError(`message has version ${version}`, 'version');
  const publisherSequence = view.getFloat64(9, true);
  const sentAtMs = view.getFloat64(17, true);
  // Both go into checkpoints, and the second moves a clock: a wrong value would outlive its message.
  if (!Number.isSafeInteger(publisherSequence) || publisherSequence < 1)
    throw new DecodeError('message has no number of its publisher');
  if (!isTime(sentAtMs)) throw new DecodeError('message has no time');
  const count = view.getUint32(25, true);
  return { version, publisherId: view.getBigUint64(1, true), publisherSequence, sentAtMs, count };
}

/** True if the store can hold this time, in whole milliseconds since 1970. */
export function isTime(ms: number): boolean {
  return Number.isInteger(ms) && ms >= 0 && ms <= TIME_MAX_MS;
}

function flagsOf(event: Event): number {
  return (
    (event.name === SCREEN_VIEW ? FLAG_SCREEN_VIEW : 0) |
    (event.sessionId === '' ? 0 : FLAG_IN_SESSION) |
    (event.eventId === '' ? 0 : FLAG_EVENT_ID) |
    (event.revenue === undefined ? 0 : FLAG_REVENUE) |
    (event.credit ? FLAG_CREDIT : 0) |
    (event.certain ? FLAG_CERTAIN : 0)
  );
}

function writeIdentity(writer: RowBinaryWriter, event: Event): void {
  writer.string(event.projectId);
  writer.string(event.deviceId);
  writer.string(event.profileId);
  writer.string(event.eventId);
  writer.i64(event.revenue ?? 0n);
  writer.string(event.currency);
  writer.string(event.orderId);
  writer.string(event.name);
  writer.dateTime64Ms(event.occurredAtMs);
  writer.dateTime64Ms(event.receivedAtMs);
}

function writeSource(writer: RowBinaryWriter, source: Source): void {
  writer.string(source.referrer);
  writer.string(source.referrerName);
  writer.string(source.referrerType);
  writer.string(source.utmSource);
  writer.string(source.utmMedium);
  writer.string(source.utmCampaign);
  writer.string(source.utmTerm);
  writer.string(source.utmContent);
  writer.string(source.channel);
}

function writeEnvironment(writer: RowBinaryWriter, environment: Environment): void {
  writer.string(environment.country);
  writer.string(environment.region);
  writer.string(environment.city);
  writer.f32(environment.longitude);
  writer.f32(environment.latitude);
  writer.string(environment.browser);
  writer.string(environment.browserVersion);
  writer.string(environment.os);
  writer.string(environment.osVersion);
  writer.string(environment.device);
  writer.string(environment.brand);
  writer.string(environment.model);
  writer.string(environment.language);
  writer.string(environment.timezone);
  writer.string(environment.screen);
}
