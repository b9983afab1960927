import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import { RowBinaryWriter } from '../../../infra/store/row-binary.ts';
import type { Store } from '../../../infra/store/store.ts';
import { encodeLaneRecord, FIRST_CHECKPOINT, freeLaneRecord, laneKeyOf } from '../../lane/lane-record.ts';
import { EVENTS_TABLE } from '../../rows.ts';

/** The fields of an event that a test specifies; the other fields follow from its number. */
export interface WrittenEvent {
  readonly number: number;
  readonly lane: number;
  readonly flushNumber: number;
  readonly createdAtMs: number;
}

/** An event as a reader of the bucket gets it: the fields that differ between the events of a test. */
export interface ReadEvent {
  readonly id: string;
  readonly name: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly createdAt: string;
  readonly path: string;
  readonly city: string;
  readonly revenue: number | null;
  readonly currency: string;
  readonly groups: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
}

const COLUMNS = [
  'partition',
  'flushNumber',
  'id',
  'sessionId',
  'projectId',
  'deviceId',
  'profileId',
  'name',
  'createdAt',
  'receivedAt',
  'path',
  'city',
  'revenue',
  'currency',
  'groups',
  'properties',
];

/** The event of that number; one in three has no session. */
export function eventOf({ number, createdAtMs }: WrittenEvent, projectId: string): ReadEvent {
  const isPaid = number % 5 === 0;
  const visit = number % 3;
  return {
    id: `c${number.toString(16).padStart(31, '0')}`,
    name: isPaid ? 'revenue' : 'screen_view',
    deviceId: `device-${visit}`,
    profileId: visit === 0 ? '' : `person-${visit}-größe`,
    sessionId: visit === 0 ? '' : `${visit}`.padStart(32, 'b'),
    projectId,
    createdAt: new Date(createdAtMs).toISOString(),
    path: `/p/${number}?"\\\n☂`,
    city: visit === 1 ? 'Köln' : '',
    revenue: isPaid ? -number / 100 : null,
    currency: isPaid ? 'EUR' : '',
    groups: visit === 2 ? ['g', ''] : [],
    properties: visit === 1 ? { key: `välue ${number}`, empty: '' } : {},
  };
}

/** Inserts events into the store like a flush before its checkpoint. */
export async function storeEvents(
  store: Store,
  storedId: string,
  events: readonly WrittenEvent[],
): Promise<void> {
  const writer = new RowBinaryWriter(16_777_216);
  for (const written of events) {
    const event = eventOf(written, storedId);
    writer.u16(written.lane);
    writer.u32(written.flushNumber);
    writer.hex(event.id);
    writer.hex(event.sessionId.padStart(32, '0'));
    for (const text of [storedId, event.deviceId, event.profileId, event.name]) writer.string(text);
    writer.dateTime64Ms(written.createdAtMs);
    writer.dateTime64Ms(written.createdAtMs);
    for (const text of [event.path, event.city]) writer.string(text);
    writer.i64(event.revenue === null ? 0n : BigInt(-written.number));
    writer.string(event.currency);
    writer.stringArray(event.groups);
    writer.stringMap(Object.entries(event.properties).flat());
  }
  await store.insertRowBinary(EVENTS_TABLE, COLUMNS, [writer.take()], undefined);
}

/** Writes a checkpoint: the lane's flushes up to this one are in the store. */
export async function writeCheckpoint(
  laneRecords: KeyedBytes,
  lane: number,
  flushNumber: number,
): Promise<void> {
  const record = freeLaneRecord({ ...FIRST_CHECKPOINT, flushNumber });
  const before = await laneRecords.get(laneKeyOf(lane));
  await laneRecords.put(laneKeyOf(lane), encodeLaneRecord(record), before?.revision ?? 0);
}

/** Writes a record over any present one. */
export async function putRecord(bucket: KeyedBytes, key: string, value: unknown): Promise<void> {
  const before = await bucket.get(key);
  await bucket.put(key, encodeJson(value), before?.revision ?? 0);
}

/** Removes events like a purge: when this resolves they are gone. */
export async function purgeEvents(store: Store, storedId: string, ids: readonly string[]): Promise<void> {
  await store.command(
    `ALTER TABLE ${EVENTS_TABLE} DELETE
     WHERE projectId = {site:String} AND has({ids:Array(String)}, lower(hex(id)))`,
    { site: storedId, ids },
    { mutations_sync: 2 },
  );
}
