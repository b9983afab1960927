import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache-keys.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { partitionOf, SESSION_GAP_MS, sessionIdOf } from '../event.ts';
import { latestOf, type SessionAnswer } from '../session-lookup.ts';
import type { Inquirer, SessionQuestions } from './session-questions.ts';

/**
 * How a session was found. Only a `derived` id may differ from the stored one. `ended`: no session reaches the event,
 * and this is the device's latest; only a seeker for credit gets it.
 */
export const FOUND_KINDS = ['known', 'open', 'ended', 'granted', 'repeat', 'derived', 'none'] as const;

export interface FoundSession {
  readonly kind: (typeof FOUND_KINDS)[number];
  readonly deviceId: string;
  /** Empty when the event belongs to no device. */
  readonly sessionId: string;
}

/** Needs a session. */
export interface SessionSeeker {
  readonly siteId: string;
  /** The device under today's salt, or the one that the request names; empty when there is none. */
  readonly deviceId: string;
  /** The same visitor under yesterday's salt; empty when that cannot apply. */
  readonly earlierDeviceId: string;
  readonly occurredAtMs: number;
  /** Empty when the event has none. */
  readonly eventId: string;
  /** True for revenue: when no session reaches the event, one that has ended will do. */
  readonly credit: boolean;
  /** True when no event follows, so that nothing is remembered. */
  readonly readOnly: boolean;
  /** Called once, unless `seek` returned the session. */
  found(session: FoundSession): void;
}

interface KnownSession {
  readonly sessionId: string;
  firstMs: number;
  lastMs: number;
  /** When an event of it last passed this node, by this node's clock. */
  touchedMs: number;
  /** False for a derived id, which is used only while the owner cannot be asked. */
  readonly certain: boolean;
}

/**
 * Finds the session of an event exactly as it will be stored.
 *
 *        firstMs        lastMs        lastMs + gap
 *     ─────┼──────────────┼────────────────┼─────▶ event time
 *          └─ certain: no look-up ─────────┘
 *
 * Everything outside that range, and every event whose id may have been recorded before, is asked of the owner of the
 * device's partition. Just after midnight a visitor has two devices: yesterday's is used while its session is open, and
 * it is credited with late revenue when its session is the latest.
 */
export class Sessions {
  readonly #known: LRUCache<string, KnownSession>;
  readonly #questions: SessionQuestions;
  readonly #partitions: number;
  readonly #clock: Clock;
  readonly #found: Readonly<Record<FoundSession['kind'], Counter>>;

  constructor(options: {
    readonly questions: SessionQuestions;
    readonly partitions: number;
    readonly knownMax: number;
    readonly clock: Clock;
    readonly metrics: Metrics;
  }) {
    this.#known = new LRUCache({ max: options.knownMax });
    this.#questions = options.questions;
    this.#partitions = options.partitions;
    this.#clock = options.clock;
    this.#found = options.metrics.reasons(
      'ingest_sessions_found_total',
      'sessions found, by kind',
      FOUND_KINDS,
    );
  }

  /** The session if it is known at once; otherwise undefined, and `seeker.found` is called later. */
  seek(seeker: SessionSeeker): FoundSession | undefined {
    if (seeker.eventId === '') {
      const known = this.#certain(seeker, this.#clock.nowMs());
      if (known !== undefined) return this.#count(known);
      if (seeker.deviceId === '') return this.#count({ kind: 'none', deviceId: '', sessionId: '' });
    }
    const inquiry = new Inquiry(seeker, this.#clock.nowMs(), (done) => seeker.found(this.#resolve(done)));
    const questionCount = this.#ask(inquiry, seeker.deviceId, 'current') + this.#askEarlier(inquiry);
    if (questionCount === 0) return this.#resolve(inquiry);
    inquiry.outstanding = questionCount;
    return undefined;
  }

  /** Evicts a session whose event was not stored. */
  evict(siteId: string, { deviceId, sessionId }: Pick<FoundSession, 'deviceId' | 'sessionId'>): void {
    const key = keyOf(siteId, deviceId);
    if (this.#known.peek(key)?.sessionId === sessionId) this.#known.delete(key);
  }

  /** Evicts a site's sessions. */
  evictSite(siteId: string): void {
    deleteKeys(this.#known, keyOf(siteId, ''));
  }

  /** Stops asking owners. */
  stop(): void {
    this.#questions.stop();
  }

  #askEarlier(inquiry: Inquiry): number {
    const { earlierDeviceId } = inquiry.seeker;
    return earlierDeviceId === '' ? 0 : this.#ask(inquiry, earlierDeviceId, 'earlier');
  }

  #ask(inquiry: Inquiry, deviceId: string, candidate: Candidate): number {
    const { siteId, eventId, occurredAtMs, credit } = inquiry.seeker;
    const partition = partitionOf(siteId, deviceId || eventId, this.#partitions);
    const question = { projectId: siteId, deviceId, occurredAtMs, eventId, credit };
    return this.#questions.ask(partition, question, inquiry, candidate) ? 1 : 0;
  }

  #resolve({ seeker, askedAtMs, current, earlier }: Inquiry): FoundSession {
    const { deviceId, earlierDeviceId } = seeker;
    if (current?.kind === 'repeat')
      return this.#count({ kind: 'repeat', deviceId, sessionId: current.sessionId });
    if (earlier?.kind === 'repeat')
      return this.#count({ kind: 'repeat', deviceId: earlierDeviceId, sessionId: earlier.sessionId });
    if (deviceId === '') return this.#count({ kind: 'none', deviceId: '', sessionId: '' });
    const nowMs = this.#clock.nowMs();
    // An event that passed here after the question was sent is newer than the answer.
    const known = this.#certain(seeker, nowMs);
    if (known !== undefined) return this.#count(known);
    if (earlier?.kind === 'open') return this.#count(this.#join(seeker, earlierDeviceId, earlier, nowMs));
    if (current?.kind === 'open') return this.#count(this.#join(seeker, deviceId, current, nowMs));
    const ended = latestEnded(seeker, current, earlier);
    if (ended !== undefined && this.#joinable(seeker, current, nowMs) === undefined)
      return this.#count(ended);
    return this.#count(this.#begin(seeker, current, { askedAtMs, nowMs }));
  }

  /** A session that this node is certain of, extended by the seeker's event. */
  #certain(seeker: SessionSeeker, nowMs: number): FoundSession | undefined {
    return (
      this.#extend(seeker, seeker.deviceId, nowMs) ??
      (seeker.earlierDeviceId === '' ? undefined : this.#extend(seeker, seeker.earlierDeviceId, nowMs))
    );
  }

  #extend(seeker: SessionSeeker, deviceId: string, nowMs: number): FoundSession | undefined {
    const known = this.#known.get(keyOf(seeker.siteId, deviceId));
    if (known === undefined || !known.certain || nowMs - known.touchedMs >= SESSION_GAP_MS) return undefined;
    const { occurredAtMs } = seeker;
    if (occurredAtMs < known.firstMs || occurredAtMs > known.lastMs + SESSION_GAP_MS) return undefined;
    if (!seeker.readOnly) {
      if (occurredAtMs > known.lastMs) known.lastMs = occurredAtMs;
      known.touchedMs = nowMs;
    }
    return { kind: 'known', deviceId, sessionId: known.sessionId };
  }

  /** Joins a session that the owner reports as open. */
  #join(seeker: SessionSeeker, deviceId: string, answer: SessionAnswer, nowMs: number): FoundSession {
    const { sessionId } = answer;
    this.#note(seeker, deviceId, {
      sessionId,
      firstMs: Math.min(answer.firstMs, seeker.occurredAtMs),
      lastMs: Math.max(answer.lastMs, seeker.occurredAtMs),
      touchedMs: nowMs,
      certain: true,
    });
    return { kind: 'open', deviceId, sessionId };
  }

  /** A session of this node that the event joins although the owner does not report it. */
  #joinable(
    { siteId, deviceId, occurredAtMs }: SessionSeeker,
    answer: SessionAnswer | undefined,
    nowMs: number,
  ): KnownSession | undefined {
    const known = this.#known.get(keyOf(siteId, deviceId));
    if (known === undefined) return undefined;
    return isJoinable(known, { occurredAtMs, nowMs, ownerSilent: answer === undefined }) ? known : undefined;
  }

  /** Opens a session with the id that the owner grants, or with the derived id when the owner is silent. */
  #begin(
    seeker: SessionSeeker,
    answer: SessionAnswer | undefined,
    { askedAtMs, nowMs }: { readonly askedAtMs: number; readonly nowMs: number },
  ): FoundSession {
    const { siteId, deviceId, occurredAtMs } = seeker;
    const known = this.#joinable(seeker, answer, nowMs);
    if (known !== undefined) {
      // A late event belongs to the session that begins soon after it and is still on its way to the owner.
      if (!seeker.readOnly) {
        known.firstMs = Math.min(known.firstMs, occurredAtMs);
        known.lastMs = Math.max(known.lastMs, occurredAtMs);
        known.touchedMs = nowMs;
      }
      return { kind: known.certain ? 'known' : 'derived', deviceId, sessionId: known.sessionId };
    }
    const sessionId = answer?.sessionId ?? sessionIdOf(siteId, deviceId, occurredAtMs, askedAtMs);
    const certain = answer !== undefined;
    const times = { firstMs: occurredAtMs, lastMs: occurredAtMs, touchedMs: nowMs };
    this.#note(seeker, deviceId, { sessionId, ...times, certain });
    return { kind: certain ? 'granted' : 'derived', deviceId, sessionId };
  }

  #note({ siteId, readOnly }: SessionSeeker, deviceId: string, session: KnownSession): void {
    if (readOnly) return;
    const key = keyOf(siteId, deviceId);
    const current = this.#known.peek(key);
    // An old session that a late event joined must not replace the current one.
    if (current === undefined || !current.certain || current.lastMs <= session.lastMs)
      this.#known.set(key, session);
  }

  #count(found: FoundSession): FoundSession {
    this.#found[found.kind].add();
    return found;
  }
}

type Candidate = 'current' | 'earlier';

/**
 * The one or two questions of a seeker; done when both are answered. An answer of undefined means that the owner was
 * silent.
 */
class Inquiry implements Inquirer<Candidate> {
  readonly seeker: SessionSeeker;
  /**
   * When the event arrived, by this node's clock. A derived id depends on it and not on when the owner was given up, so
   * that every node derives the same id however long it waited.
   */
  readonly askedAtMs: number;
  readonly #done: (inquiry: Inquiry) => void;
  current: SessionAnswer | undefined;
  earlier: SessionAnswer | undefined;
  outstanding = 0;

  constructor(seeker: SessionSeeker, askedAtMs: number, done: (inquiry: Inquiry) => void) {
    this.seeker = seeker;
    this.askedAtMs = askedAtMs;
    this.#done = done;
  }

  answered(candidate: Candidate, answer: SessionAnswer | undefined): void {
    this[candidate] = answer;
    this.outstanding -= 1;
    if (this.outstanding === 0) this.#done(this);
  }
}

/** The latest session of the visitor's one or two devices when it has ended. Nothing of it is remembered here. */
function latestEnded(
  seeker: SessionSeeker,
  current: SessionAnswer | undefined,
  earlier: SessionAnswer | undefined,
): FoundSession | undefined {
  const ofCurrent = current?.kind === 'ended' ? current : undefined;
  const ofEarlier = earlier?.kind === 'ended' ? earlier : undefined;
  const latest = latestOf(ofCurrent, ofEarlier, seeker.occurredAtMs);
  if (latest === undefined) return undefined;
  const deviceId = latest === ofCurrent ? seeker.deviceId : seeker.earlierDeviceId;
  return { kind: 'ended', deviceId, sessionId: latest.sessionId };
}

function keyOf(siteId: string, deviceId: string): string {
  return `${siteId}\n${deviceId}`;
}

/**
 * Whether an event shortly before or within a session of this node joins it although the owner does not report that
 * session.
 */
function isJoinable(
  known: KnownSession,
  event: { readonly occurredAtMs: number; readonly nowMs: number; readonly ownerSilent: boolean },
): boolean {
  // A derived session counts only while the owner is silent, an expired one not at all.
  if (!known.certain && !event.ownerSilent) return false;
  if (event.nowMs - known.touchedMs >= SESSION_GAP_MS) return false;
  const fromMs = known.firstMs - SESSION_GAP_MS;
  return event.occurredAtMs >= fromMs && event.occurredAtMs <= known.lastMs + SESSION_GAP_MS;
}
