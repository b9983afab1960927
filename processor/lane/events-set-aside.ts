import type { StoredId } from '../../infra/accounts/ids.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import type { LaneLayout } from '../../infra/process/service-lanes.ts';
import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import { type SiteValues, setAside } from '../dead-letters/set-aside.ts';
import { EventView, projectIdOf } from '../fold/event-view.ts';
import { type SetAside, sitesSetAside } from '../fold/set-aside.ts';
import { type FlushOptions, persist } from './flush.ts';
import { type FailedAt, nextSetAside, SetAsideError } from './set-aside.ts';
import { SiteFailedError } from './slices.ts';

/** The events of one lane that are left out because they cannot be stored. */
export class EventsSetAside {
  readonly #options: FlushOptions & { readonly layout: LaneLayout };

  constructor(options: FlushOptions & { readonly layout: LaneLayout }) {
    this.#options = options;
  }

  /**
   * When data of one site has failed, records which of its events are left out, so the lane can continue from its checkpoint.
   * @throws {SetAsideError} when this is recorded, else the given error
   */
  async leaveOut(error: unknown, at: Omit<FailedAt, 'failure'>): Promise<never> {
    if (!(error instanceof SiteFailedError)) throw error;
    const { ownership, lane, log, metrics } = this.#options;
    const entry = nextSetAside(ownership.setAside, { ...at, failure: error.failure });
    if (entry === undefined) throw error;
    await persist(this.#options, 'record of what is set aside', () => ownership.addSetAside(entry));
    metrics.siteFailures.add();
    const { first, last, reason } = entry;
    log.error({ lane, first, last, reason }, 'what a site sent cannot be stored and is set aside');
    throw new SetAsideError(error.message, { cause: error });
  }

  /** Keeps the site's events in these folded messages as dead letters. */
  async keep(messages: readonly StreamMessage[]): Promise<void> {
    const { ownership, stream, clock, metrics } = this.#options;
    if (ownership.setAside.length === 0) return;
    for (const message of messages) {
      const sites = eventsSetAside(ownership.setAside, message);
      if (sites.length === 0) continue;
      const origin = {
        ...this.#options,
        stream: 'events',
        streamName: stream,
        nowMs: clock.nowMs(),
      } as const;
      await setAside(origin, message, sites);
      for (const { indexes } of sites) metrics.setAside.add(indexes.size);
    }
  }
}

/** The events of a message that the fold left out, by site; none of a message that cannot be read. */
function eventsSetAside(all: readonly SetAside[], { sequence, bytes }: StreamMessage): SiteValues[] {
  const sites = sitesSetAside(all, sequence);
  if (sites === undefined) return [];
  const found = new Map<StoredId, Set<number>>();
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = new EventView();
  try {
    const { count } = decodeMessageHead(message);
    for (let index = 0, offset = MESSAGE_HEADER_BYTES; index < count; index += 1) {
      offset = view.read(message, offset);
      const projectId = projectIdOf(view);
      if (!sites.has(projectId)) continue;
      const known = found.get(projectId);
      if (known === undefined) found.set(projectId, new Set([index]));
      else known.add(index);
    }
  } catch (error) {
    if (error instanceof DecodeError) return [];
    throw error;
  }
  const reasonOf = (projectId: StoredId) =>
    all.findLast((entry) => entry.projectId === projectId)?.reason ?? 'set aside';
  return [...found].map(([projectId, indexes]) => ({ projectId, indexes, reason: reasonOf(projectId) }));
}
