import { z } from 'zod';
import { feedSubjectOf } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { FedEvent } from './fed-event.ts';
import { FEED_STREAM } from './feed-stream.ts';

/**
 * Removes the whole feed of a site, message by message: only so the server overwrites them in the file. `goOn` is called
 * before each and may throw.
 */
export async function removeFeed(bus: Bus, storedId: StoredId, goOn: () => void): Promise<void> {
  for await (const { sequence } of bus.messagesOf(FEED_STREAM, feedSubjectOf(storedId, '>'))) {
    goOn();
    await bus.remove(FEED_STREAM, sequence);
  }
}

/**
 * Removes from the feed of a site the messages that hold an event of a person, known under all of `names`: an event that names them, or an
 * event of a visit with such an event in the feed. Other events in these messages are removed, too.
 */
export async function removePersonFromFeed(
  bus: Bus,
  storedId: StoredId,
  names: readonly string[],
): Promise<void> {
  const messages = () => bus.messagesOf(FEED_STREAM, feedSubjectOf(storedId, '>'));
  const visits = new Set<string>();
  const isTheirs = ({ profileId, sessionId }: EventOwner) =>
    names.includes(profileId) || visits.has(sessionId);
  for await (const { bytes } of messages()) {
    for (const { profileId, sessionId } of visitsIn(bytes) ?? [])
      if (names.includes(profileId) && sessionId !== '') visits.add(sessionId);
  }
  for await (const { sequence, bytes } of messages()) {
    // A message that cannot be read may hold one of theirs.
    if (visitsIn(bytes)?.some(isTheirs) ?? true) await bus.remove(FEED_STREAM, sequence);
  }
}

const owner = z.object({ profileId: z.string(), sessionId: z.string() });
type EventOwner = z.output<typeof owner>;

/** The owners of a message's events; undefined when it is unreadable. */
function visitsIn(bytes: Uint8Array): EventOwner[] | undefined {
  try {
    return fedEventsIn(bytes).map((event) => owner.parse(event));
  } catch {
    return undefined; // The caller removes the message.
  }
}

/** The events of a message. Throws when a line is not JSON. */
export function fedEventsIn(bytes: Uint8Array): FedEvent[] {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString()
    .trimEnd()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as FedEvent);
}
