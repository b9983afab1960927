import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import type { SiteValues } from '../dead-letters/set-aside.ts';
import { EventView } from '../fold/event-view.ts';
import { type SetAside, sitesSetAside } from '../fold/set-aside.ts';

/** The events of a message that the fold left out, by site; none of a message that cannot be read. */
export function eventsSetAside(all: readonly SetAside[], { sequence, bytes }: StreamMessage): SiteValues[] {
  const sites = sitesSetAside(all, sequence);
  if (sites === undefined) return [];
  const found = new Map<string, Set<number>>();
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = new EventView();
  try {
    const { count } = decodeMessageHead(message);
    for (let index = 0, offset = MESSAGE_HEADER_BYTES; index < count; index += 1) {
      offset = view.read(message, offset);
      const projectId = message.toString('utf8', view.projectStart, view.projectEnd);
      if (!sites.has(projectId)) continue;
      const known = found.get(projectId);
      if (known === undefined) found.set(projectId, new Set([index]));
      else known.add(index);
    }
  } catch (error) {
    if (error instanceof DecodeError) return [];
    throw error;
  }
  const reasonOf = (projectId: string) =>
    all.findLast((entry) => entry.projectId === projectId)?.reason ?? 'set aside';
  return [...found].map(([projectId, indexes]) => ({ projectId, indexes, reason: reasonOf(projectId) }));
}
