import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { type EntityUpdate, readEntityUpdates } from '../../ingest/entity-update.ts';
import { decodeMessageHead, type MessageHead } from '../../ingest/event.ts';
import type { SiteValues } from '../dead-letters/set-aside.ts';
import { decodeEraseCommands, type EraseCommand } from '../fold/erase-command.ts';
import type { ReadUpdate } from './document.ts';
import { answerOf } from './revenue-event.ts';

/** An update, and its position in its message. */
export interface PlacedUpdate {
  readonly index: number;
  readonly update: ReadUpdate;
}

/** A decoded message. */
export interface ReadMessage {
  readonly message: StreamMessage;
  readonly head: MessageHead;
  readonly updates: readonly PlacedUpdate[];
  /** Updates that cannot be read. */
  readonly unreadable: readonly SiteValues[];
  readonly erasures: readonly EraseCommand[] | undefined;
}

/** Reads a message; returns an error if it cannot be read at all. */
export function readMessage(message: StreamMessage): ReadMessage | DecodeError {
  const { bytes } = message;
  try {
    const head = decodeMessageHead(bytes);
    const erasures = head.count === 0 ? decodeEraseCommands(bytes) : undefined;
    const read = erasures === undefined ? readEntityUpdates(bytes, head.count).map(withAnswer) : [];
    const updates: PlacedUpdate[] = [];
    const unreadable: SiteValues[] = [];
    for (const [index, update] of read.entries()) {
      if (!(update instanceof DecodeError)) updates.push({ index, update });
      else unreadable.push({ projectId: undefined, indexes: new Set([index]), reason: update.message });
    }
    return { message, head, updates, unreadable, erasures };
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

/** An order's event that cannot be read is rejected here: later, when it is recorded, it would be too late. */
function withAnswer(update: EntityUpdate | DecodeError): ReadUpdate | DecodeError {
  if (update instanceof DecodeError || update.kind !== 'order') return update;
  try {
    return { ...update, answered: answerOf(update.event) };
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}
