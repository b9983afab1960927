import { z } from 'zod';
import { feedSubjectOf } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { FedEvent } from './fed-event.ts';
import { FEED_STREAM } from './feed-stream.ts';

/** Removes everything that is in the feed of a site. */
export async function removeFeed(bus: Bus, storedId: string): Promise<void> {
  await bus.purgeSubject(FEED_STREAM, feedSubjectOf(storedId, '>'));
}

/**
 * Removes from the feed of a site the messages that hold an event of a person, known under all of `names`: one that names
 * them, or one of a visit of which an event in the feed does. What else is in those messages goes with them.
 */
export async function removePersonFromFeed(
  bus: Bus,
  storedId: string,
  names: readonly string[],
): Promise<void> {
  const messages = () => bus.messagesOf(FEED_STREAM, feedSubjectOf(storedId, '>'));
  const visits = new Set<string>();
  const isTheirs = ({ profileId, sessionId }: Visit) => names.includes(profileId) || visits.has(sessionId);
  for await (const { bytes } of messages()) {
    for (const { profileId, sessionId } of visitsIn(bytes) ?? [])
      if (names.includes(profileId) && sessionId !== '') visits.add(sessionId);
  }
  for await (const { sequence, bytes } of messages()) {
    // A message that cannot be read may hold one of theirs.
    if (visitsIn(bytes)?.some(isTheirs) ?? true) await bus.remove(FEED_STREAM, sequence);
  }
}

const visit = z.object({ profileId: z.string(), sessionId: z.string() });
type Visit = z.output<typeof visit>;

/** Whose events are in a message; undefined when it cannot be read. */
function visitsIn(bytes: Uint8Array): Visit[] | undefined {
  try {
    return fedEventsIn(bytes).map((event) => visit.parse(event));
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
