import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, endMessage, MESSAGE_HEADER_BYTES, type MessageHead } from '../../ingest/event.ts';

/** A message without events, which moves the clock of its lane to `sentAtMs`. */
export function tickMessage(head: Omit<MessageHead, 'version' | 'count'>): Uint8Array {
  const writer = new RowBinaryWriter(MESSAGE_HEADER_BYTES);
  beginMessage(writer, head);
  endMessage(writer, 0);
  return writer.take();
}
