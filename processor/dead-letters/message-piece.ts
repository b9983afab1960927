import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';

const LENGTH_BYTES = 4;

/** The message with only some of its values, events or updates, each preceded by its length; `has` selects them by position. */
export function pieceOf(message: Buffer, has: (index: number) => boolean): Buffer {
  const { count } = decodeMessageHead(message);
  const values: Buffer[] = [];
  for (let index = 0, start = MESSAGE_HEADER_BYTES; index < count; index += 1) {
    const end = start + LENGTH_BYTES + message.readUInt32LE(start);
    if (has(index)) values.push(message.subarray(start, end));
    start = end;
  }
  if (values.length === count) return message;
  const piece = Buffer.concat([message.subarray(0, MESSAGE_HEADER_BYTES), ...values]);
  piece.writeUInt32LE(values.length, MESSAGE_HEADER_BYTES - LENGTH_BYTES);
  return piece;
}
