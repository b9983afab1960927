import type { Bus } from '../../infra/bus/bus.ts';
import {
  decodeMessageHead,
  EVENT_COLUMNS,
  EVENT_HEADER_BYTES,
  MESSAGE_HEADER_BYTES,
  type MessageHead,
  streamOf,
} from '../event.ts';

/** One event on the bus: its session hint and its row, column by column. */
export interface StoredEvent {
  readonly lane: number;
  readonly message: MessageHead;
  readonly sessionId: string;
  readonly row: Readonly<Record<string, string | number | readonly string[]>>;
}

const NUMBERS: Readonly<Record<string, { bytes: number; read: (bytes: Buffer, offset: number) => number }>> =
  {
    revenue: { bytes: 8, read: (bytes, offset) => Number(bytes.readBigInt64LE(offset)) },
    createdAt: { bytes: 8, read: (bytes, offset) => Number(bytes.readBigInt64LE(offset)) },
    receivedAt: { bytes: 8, read: (bytes, offset) => Number(bytes.readBigInt64LE(offset)) },
    longitude: { bytes: 4, read: (bytes, offset) => bytes.readFloatLE(offset) },
    latitude: { bytes: 4, read: (bytes, offset) => bytes.readFloatLE(offset) },
  };

/** All events in the streams, lane by lane. */
export async function storedEvents(bus: Bus, lanes: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let lane = 0; lane < lanes; lane += 1) {
    const { first, last } = await bus.streamBounds(streamOf(lane));
    if (last < first) continue;
    const reader = bus.reader(streamOf(lane), first);
    let seen = first - 1;
    while (seen < last) {
      await reader.read(last - seen, 1_000, ({ sequence, bytes }) => {
        seen = sequence;
        events.push(...eventsOf(lane, Buffer.from(bytes)));
        return sequence < last;
      });
    }
    await reader.close();
  }
  return events;
}

function eventsOf(lane: number, bytes: Buffer): StoredEvent[] {
  const message = decodeMessageHead(bytes);
  const events: StoredEvent[] = [];
  let offset = MESSAGE_HEADER_BYTES;
  for (let index = 0; index < message.count; index += 1) {
    const length = bytes.readUInt32LE(offset);
    const event = bytes.subarray(offset + 4, offset + 4 + length);
    const sessionId = event.toString('hex', 17, 33);
    events.push({ lane, message, sessionId, row: rowOf(event.subarray(EVENT_HEADER_BYTES)) });
    offset += 4 + length;
  }
  return events;
}

function rowOf(bytes: Buffer): StoredEvent['row'] {
  const row: Record<string, string | number | readonly string[]> = {};
  let offset = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes.readUInt8(offset);
      offset += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const text = () => {
    const length = varint();
    offset += length;
    return bytes.toString('utf8', offset - length, offset);
  };
  for (const column of EVENT_COLUMNS) {
    const number = NUMBERS[column];
    if (number !== undefined) {
      row[column] = number.read(bytes, offset);
      offset += number.bytes;
    } else if (column === 'groups') row[column] = Array.from({ length: varint() }, text);
    else if (column === 'properties') row[column] = Array.from({ length: 2 * varint() }, text);
    else row[column] = text();
  }
  return row;
}
