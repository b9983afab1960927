import { type FedEvent, readEvent, shortenedEvent } from './fed-event.ts';
import { RowReader } from './row-reader.ts';
import type { SiteRows } from './site-rows.ts';

/** A message of a feed: lines of JSON, each with its line feed. */
export interface FeedMessage {
  /** Place of its first event among the site's events of the flush. */
  readonly first: number;
  readonly count: number;
  readonly bytes: Buffer;
  /** Number of its events that lack their properties. */
  readonly shortened: number;
}

/** Sizes of messages. */
export interface MessageSizes {
  /** Events are grouped up to this. */
  readonly groupMaxBytes: number;
  /** The largest message that the bus takes. A longer event goes without its properties. */
  readonly messageMaxBytes: number;
}

/**
 * The messages of a site's rows from place `from` on. Each is made on demand, so the thread is blocked for one message
 * at a time. An event longer than a group is a message by itself.
 */
export function* feedMessagesOf(
  bytes: Buffer,
  { projectId, starts }: SiteRows,
  { from, groupMaxBytes, messageMaxBytes }: MessageSizes & { readonly from: number },
): Generator<FeedMessage, void, void> {
  const row = new RowReader(bytes);
  let first = from;
  let lines: string[] = [];
  let length = 0;
  let shortened = 0;
  const message = () => ({ first, count: lines.length, bytes: Buffer.from(lines.join('')), shortened });
  for (let index = from; index < starts.length; index += 1) {
    row.offset = starts[index] ?? 0;
    const event = readEvent(row, { projectId, index });
    let line = lineOf(event);
    let lineBytes = Buffer.byteLength(line);
    const isTooLong = lineBytes > messageMaxBytes;
    if (isTooLong) {
      line = lineOf(shortenedEvent(event));
      lineBytes = Buffer.byteLength(line);
    }
    if (lines.length > 0 && length + lineBytes > groupMaxBytes) {
      yield message();
      first = index;
      lines = [];
      length = 0;
      shortened = 0;
    }
    lines.push(line);
    length += lineBytes;
    if (isTooLong) shortened += 1;
  }
  if (lines.length > 0) yield message();
}

function lineOf(event: FedEvent): string {
  return `${JSON.stringify(event)}\n`;
}
