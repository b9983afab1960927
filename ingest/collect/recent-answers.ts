import type { StoredId } from '../../infra/accounts/ids.ts';
import { FairCache } from '../../infra/cache/fair-cache.ts';
import { DAY_MS } from '../../infra/durations.ts';
import type { DeviceId } from '../event.ts';
import type { Reject } from '../request/reject.ts';

const KNOWN_MS = DAY_MS;

/** The answer to the first event with an id. */
export interface TrackAnswer {
  readonly deviceId: DeviceId;
  readonly sessionId: string;
}

/** Waits for the answer to the event that had the same id first. */
export interface AnswerWaiter {
  /** Called once, with the result of the first event: its answer, or why it was rejected. */
  answered(result: TrackAnswer | Reject): void;
}

/**
 * The answers to events with an id of the last day, on this node: a repeat gets the first one's answer and is not
 * published. Beyond `knownMax` the site with the most loses its oldest; the lane's owner still knows them.
 */
export class RecentAnswers {
  /** Ids whose first event is in progress; at most as many as there are open requests. */
  readonly #pending = new Map<string, AnswerWaiter[]>();
  readonly #answers: FairCache<TrackAnswer & { readonly atMs: number }>;

  constructor(knownMax: number) {
    this.#answers = new FairCache(knownMax);
  }

  /**
   * The known answer; `waits` when `waiter` gets it later; or `first`: the caller handles the event and then calls
   * `end`.
   */
  begin(
    siteId: StoredId,
    eventId: string,
    nowMs: number,
    waiter: AnswerWaiter,
  ): TrackAnswer | 'first' | 'waits' {
    const key = keyOf(siteId, eventId);
    const waiters = this.#pending.get(key);
    if (waiters !== undefined) {
      waiters.push(waiter);
      return 'waits';
    }
    const answer = this.#answers.get(siteId, eventId);
    if (answer !== undefined && nowMs - answer.atMs < KNOWN_MS) return answer;
    this.#pending.set(key, []);
    return 'first';
  }

  /** Evicts a site's answers. */
  evictSite(siteId: StoredId): void {
    this.#answers.deleteOwner(siteId);
  }

  /** Ends an event for which `begin` returned `first`. After a reject the id is free again. */
  end(siteId: StoredId, eventId: string, nowMs: number, result: TrackAnswer | Reject): void {
    const key = keyOf(siteId, eventId);
    const waiters = this.#pending.get(key) ?? [];
    this.#pending.delete(key);
    if (!('reason' in result))
      this.#answers.set(siteId, eventId, {
        deviceId: result.deviceId,
        sessionId: result.sessionId,
        atMs: nowMs,
      });
    for (const waiter of waiters) waiter.answered(result);
  }
}

function keyOf(siteId: StoredId, eventId: string): string {
  return `${siteId}\n${eventId}`;
}
