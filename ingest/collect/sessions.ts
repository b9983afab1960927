import type { StoredId } from '../../infra/accounts/ids.ts';
import { FairCache } from '../../infra/cache/fair-cache.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { DeviceId } from '../event.ts';
import { SESSION_GAP_MS, sessionIdOf } from '../event.ts';
import { STANDING_NONE, slotOf, slotOfStanding } from '../open-sessions.ts';
import { latestOf, type SessionAnswer } from '../session-lookup.ts';
import type { OpenSessions } from './open-sessions.ts';
import type { AnswerListener, SessionQuestions } from './session-questions.ts';

/**
 * The way in which a session was found. Only a `derived` id may differ from the stored one. `opened`: the owners hold no session of the
 * device, so this node opened one without asking. `ended`: no session reaches the event, and this is the device's latest; only a request
 * for credit gets it. `none`: there is no device, or credit for a device that has no session.
 */
export const FOUND_KINDS = [
  'known',
  'open',
  'opened',
  'ended',
  'granted',
  'repeat',
  'derived',
  'none',
] as const;

/**
 * The reason for asking an owner. `event-id`: the event may have been recorded before. `other-time`: it did not happen just now.
 * `two-devices`: both have an open session. `delayed`: it may be stored long after its answer. The others say what was
 * missing in the owner's list (`OpenSessions.find`).
 */
const ASK_REASONS = [
  'event-id',
  'other-time',
  'two-devices',
  'read-only',
  'credit',
  'delayed',
  'not-loaded',
  'stale',
  'incomplete',
  'doubtful',
  'boundary',
  'slow-publishing',
] as const;
type AskReason = (typeof ASK_REASONS)[number];

/** An event is one of now when it happened at most this long before it came, in the same slot. */
const NOW_MS = 5_000;

export interface FoundSession {
  readonly kind: (typeof FOUND_KINDS)[number];
  readonly deviceId: DeviceId;
  /** Empty when the event belongs to no session. */
  readonly sessionId: string;
}

/** Asks for the session of an event, or of a visitor. */
export interface SessionRequest {
  readonly siteId: StoredId;
  /** The device under today's salt, or the one that the request names; empty when there is none. */
  readonly deviceId: DeviceId;
  /** The same visitor under yesterday's salt; empty when that cannot apply. */
  readonly earlierDeviceId: DeviceId;
  readonly occurredAtMs: number;
  /** Empty when the event has none. */
  readonly eventId: string;
  /** True for revenue: when no session reaches the event, one that has ended will do, and no session is opened. */
  readonly credit: boolean;
  /** True when the event reaches the bus inside another record, at any time after its answer. */
  readonly isDelayed: boolean;
  /** True when no event follows, so that nothing is remembered. */
  readonly readOnly: boolean;
  /** Called once, unless `find` returned the session. */
  found(session: FoundSession): void;
}

interface KnownSession {
  readonly sessionId: string;
  firstMs: number;
  lastMs: number;
  /** Time at which its last event passed this node, by this node's clock. */
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
 * Outside of this range, the owners' lists decide (`OpenSessions`). An event of now joins the open session in the list,
 * whose id follows from its slot. If the list has no session, the event opens one under the id that every node derives.
 * The owner of the device's lane is asked about everything uncertain, and about every event whose id may have been
 * recorded before. Just after midnight a visitor has two devices: yesterday's is used while its session is open, and it
 * is credited with late revenue when its session is the latest.
 *
 * Revenue opens no session. So it waits for look-ups of its device's other events: the owner may answer it before them.
 */
export class Sessions {
  /** By site and device; the sites share it. */
  readonly #known: FairCache<KnownSession>;
  /** By device, the look-ups in progress that may open a session, and the requests for credit that wait for them. */
  readonly #opening = new Map<string, OpeningDevice>();
  readonly #questions: Pick<SessionQuestions, 'ask' | 'stop'>;
  readonly #openSessions: Pick<OpenSessions, 'find' | 'stop'>;
  readonly #clock: Clock;
  readonly #found: Readonly<Record<FoundSession['kind'], Counter>>;
  readonly #asked: Readonly<Record<AskReason, Counter>>;

  constructor(options: {
    readonly questions: Pick<SessionQuestions, 'ask' | 'stop'>;
    readonly openSessions: Pick<OpenSessions, 'find' | 'stop'>;
    readonly knownMax: number;
    readonly clock: Clock;
    readonly metrics: Metrics;
  }) {
    this.#known = new FairCache(options.knownMax);
    this.#questions = options.questions;
    this.#openSessions = options.openSessions;
    this.#clock = options.clock;
    this.#found = options.metrics.reasons(
      'ingest_sessions_found_total',
      'sessions found, by kind',
      FOUND_KINDS,
    );
    this.#asked = options.metrics.reasons(
      'ingest_sessions_asked_total',
      'events and visitors whose session was asked of its owner, by reason',
      ASK_REASONS,
    );
  }

  /** Returns the session if it is known immediately; otherwise undefined, and `request.found` is called later. */
  find(request: SessionRequest): FoundSession | undefined {
    const nowMs = this.#clock.nowMs();
    if (request.eventId === '') {
      const known = this.#certain(request, nowMs);
      if (known !== undefined) return this.#count(known);
      if (request.deviceId === '') return this.#count({ kind: 'none', deviceId: '', sessionId: '' });
    }
    const listed = this.#findListed(request, nowMs);
    if (typeof listed !== 'string') return this.#count(listed);
    if (request.credit && this.#waitsForOpening(request)) return undefined;
    this.#asked[listed].add();
    const pending = new PendingRequest(request, nowMs, (done) => {
      request.found(this.#resolve(done));
      // The event is published now, in front of the revenue that waits for it.
      if (mayOpen(request)) this.#endOpening(request);
    });
    const questionCount = this.#ask(pending, request.deviceId, 'current') + this.#askEarlier(pending);
    if (questionCount === 0) return this.#resolve(pending);
    pending.outstanding = questionCount;
    if (mayOpen(request)) this.#beginOpening(request);
    return undefined;
  }

  /** Evicts a session whose event was not stored. */
  evict(siteId: StoredId, { deviceId, sessionId }: Pick<FoundSession, 'deviceId' | 'sessionId'>): void {
    if (this.#known.peek(siteId, deviceId)?.sessionId === sessionId) this.#known.delete(siteId, deviceId);
  }

  /** Evicts a site's sessions. */
  evictSite(siteId: StoredId): void {
    this.#known.deleteOwner(siteId);
  }

  /** Stops asking owners. */
  stop(): void {
    this.#questions.stop();
    this.#openSessions.stop();
  }

  /** The session that the owners' lists say, or why they have to be asked. */
  #findListed(request: SessionRequest, nowMs: number): FoundSession | AskReason {
    const { siteId, deviceId, earlierDeviceId, occurredAtMs, eventId } = request;
    if (eventId !== '') return 'event-id';
    const slot = slotOf(nowMs);
    const isOfNow = occurredAtMs <= nowMs && occurredAtMs >= nowMs - NOW_MS && slotOf(occurredAtMs) === slot;
    if (!isOfNow) return 'other-time';
    const current = this.#openSessions.find(siteId, deviceId, nowMs);
    if (typeof current === 'string') return current;
    const earlier =
      earlierDeviceId === '' ? STANDING_NONE : this.#openSessions.find(siteId, earlierDeviceId, nowMs);
    if (typeof earlier === 'string') return earlier;
    if (earlier !== STANDING_NONE) {
      if (current !== STANDING_NONE) return 'two-devices';
      return this.#joinListed(request, earlierDeviceId, slotOfStanding(earlier, nowMs), nowMs);
    }
    if (current !== STANDING_NONE)
      return this.#joinListed(request, deviceId, slotOfStanding(current, nowMs), nowMs);
    // The owner remembers its answers to these.
    if (request.readOnly) return 'read-only';
    if (request.credit) return 'credit';
    if (request.isDelayed) return 'delayed';
    const { sessionId } = this.#joinListed(request, deviceId, slot, nowMs);
    return { kind: 'opened', deviceId, sessionId };
  }

  /** Joins or opens the session with the id derived from this slot. */
  #joinListed(request: SessionRequest, deviceId: DeviceId, slot: number, nowMs: number): FoundSession {
    const slotMs = slot * SESSION_GAP_MS;
    const sessionId = sessionIdOf(request.siteId, deviceId, slotMs, slotMs);
    const times = { firstMs: request.occurredAtMs, lastMs: request.occurredAtMs, touchedMs: nowMs };
    this.#note(request, deviceId, { sessionId, ...times, certain: true });
    return { kind: 'open', deviceId, sessionId };
  }

  #beginOpening(request: SessionRequest): void {
    for (const key of deviceKeysOf(request)) {
      const opening = this.#opening.get(key);
      if (opening === undefined) this.#opening.set(key, { lookups: 1, waiting: [] });
      else opening.lookups += 1;
    }
  }

  #endOpening(request: SessionRequest): void {
    for (const key of deviceKeysOf(request)) {
      const opening = this.#opening.get(key);
      if (opening === undefined) continue;
      opening.lookups -= 1;
      if (opening.lookups > 0) continue;
      this.#opening.delete(key);
      for (const waiting of opening.waiting) {
        const found = this.find(waiting);
        if (found !== undefined) waiting.found(found);
      }
    }
  }

  /** True when the request has to wait; it is found again afterwards. */
  #waitsForOpening(request: SessionRequest): boolean {
    for (const key of deviceKeysOf(request)) {
      const opening = this.#opening.get(key);
      if (opening === undefined) continue;
      opening.waiting.push(request);
      return true;
    }
    return false;
  }

  #askEarlier(pending: PendingRequest): number {
    const { earlierDeviceId } = pending.request;
    return earlierDeviceId === '' ? 0 : this.#ask(pending, earlierDeviceId, 'earlier');
  }

  #ask(pending: PendingRequest, deviceId: DeviceId, candidate: Candidate): number {
    const { siteId, eventId, occurredAtMs, credit } = pending.request;
    const question = { projectId: siteId, deviceId, occurredAtMs, eventId, credit };
    return this.#questions.ask(question, pending, candidate) ? 1 : 0;
  }

  #resolve({ request, askedAtMs, current, earlier }: PendingRequest): FoundSession {
    const { deviceId, earlierDeviceId } = request;
    if (current?.kind === 'repeat')
      return this.#count({ kind: 'repeat', deviceId, sessionId: current.sessionId });
    if (earlier?.kind === 'repeat')
      return this.#count({ kind: 'repeat', deviceId: earlierDeviceId, sessionId: earlier.sessionId });
    if (deviceId === '') return this.#count({ kind: 'none', deviceId: '', sessionId: '' });
    const nowMs = this.#clock.nowMs();
    // An event that passed here after the question was sent is newer than the answer.
    const known = this.#certain(request, nowMs);
    if (known !== undefined) return this.#count(known);
    if (earlier?.kind === 'open') return this.#count(this.#join(request, earlierDeviceId, earlier, nowMs));
    if (current?.kind === 'open') return this.#count(this.#join(request, deviceId, current, nowMs));
    if (this.#joinable(request, current, nowMs) === undefined) {
      const ended = latestEnded(request, current, earlier);
      if (ended !== undefined) return this.#count(ended);
      // A derived id may mean an existing session only while the owner is silent.
      if (request.credit && current !== undefined)
        return this.#count({ kind: 'none', deviceId, sessionId: '' });
    }
    return this.#count(this.#begin(request, current, { askedAtMs, nowMs }));
  }

  /** A session that this node is certain of, extended by the request's event. */
  #certain(request: SessionRequest, nowMs: number): FoundSession | undefined {
    return (
      this.#extend(request, request.deviceId, nowMs) ??
      (request.earlierDeviceId === '' ? undefined : this.#extend(request, request.earlierDeviceId, nowMs))
    );
  }

  #extend(request: SessionRequest, deviceId: DeviceId, nowMs: number): FoundSession | undefined {
    const known = this.#known.get(request.siteId, deviceId);
    if (known === undefined || !known.certain || nowMs - known.touchedMs >= SESSION_GAP_MS) return undefined;
    const { occurredAtMs } = request;
    if (occurredAtMs < known.firstMs || occurredAtMs > known.lastMs + SESSION_GAP_MS) return undefined;
    if (!request.readOnly) {
      if (occurredAtMs > known.lastMs) known.lastMs = occurredAtMs;
      known.touchedMs = nowMs;
    }
    return { kind: 'known', deviceId, sessionId: known.sessionId };
  }

  /** Joins a session that the owner reports as open. */
  #join(request: SessionRequest, deviceId: DeviceId, answer: SessionAnswer, nowMs: number): FoundSession {
    const { sessionId } = answer;
    this.#note(request, deviceId, {
      sessionId,
      firstMs: Math.min(answer.firstMs, request.occurredAtMs),
      lastMs: Math.max(answer.lastMs, request.occurredAtMs),
      touchedMs: nowMs,
      certain: true,
    });
    return { kind: 'open', deviceId, sessionId };
  }

  /** A session of this node that the event joins although the owner does not report it. */
  #joinable(
    { siteId, deviceId, occurredAtMs }: SessionRequest,
    answer: SessionAnswer | undefined,
    nowMs: number,
  ): KnownSession | undefined {
    const known = this.#known.get(siteId, deviceId);
    if (known === undefined) return undefined;
    return isJoinable(known, { occurredAtMs, nowMs, ownerSilent: answer === undefined }) ? known : undefined;
  }

  /** Opens a session with the id that the owner grants, or with the derived id when the owner is silent. */
  #begin(
    request: SessionRequest,
    answer: SessionAnswer | undefined,
    { askedAtMs, nowMs }: { readonly askedAtMs: number; readonly nowMs: number },
  ): FoundSession {
    const { siteId, deviceId, occurredAtMs } = request;
    const known = this.#joinable(request, answer, nowMs);
    if (known !== undefined) {
      // A late event belongs to the session that begins soon after it and is still on its way to the owner.
      if (!request.readOnly) {
        known.firstMs = Math.min(known.firstMs, occurredAtMs);
        known.lastMs = Math.max(known.lastMs, occurredAtMs);
        known.touchedMs = nowMs;
      }
      return { kind: known.certain ? 'known' : 'derived', deviceId, sessionId: known.sessionId };
    }
    const sessionId = answer?.sessionId ?? sessionIdOf(siteId, deviceId, occurredAtMs, askedAtMs);
    const certain = answer !== undefined;
    const times = { firstMs: occurredAtMs, lastMs: occurredAtMs, touchedMs: nowMs };
    this.#note(request, deviceId, { sessionId, ...times, certain });
    return { kind: certain ? 'granted' : 'derived', deviceId, sessionId };
  }

  #note({ siteId, readOnly }: SessionRequest, deviceId: DeviceId, session: KnownSession): void {
    if (readOnly) return;
    const current = this.#known.peek(siteId, deviceId);
    // An old session that a late event joined must not replace the current one.
    if (current === undefined || !current.certain || current.lastMs <= session.lastMs)
      this.#known.set(siteId, deviceId, session);
  }

  #count(found: FoundSession): FoundSession {
    this.#found[found.kind].add();
    return found;
  }
}

interface OpeningDevice {
  lookups: number;
  readonly waiting: SessionRequest[];
}

function mayOpen({ readOnly, credit }: SessionRequest): boolean {
  return !readOnly && !credit;
}

/** The keys of the visitor's one or two devices; none for an event without a device. */
function deviceKeysOf({ siteId, deviceId, earlierDeviceId }: SessionRequest): readonly string[] {
  return [deviceId, earlierDeviceId].filter((id) => id !== '').map((id) => keyOf(siteId, id));
}

type Candidate = 'current' | 'earlier';

/**
 * The one or two questions of a request; done when both are answered. An answer of undefined means that the owner was
 * silent.
 */
class PendingRequest implements AnswerListener<Candidate> {
  readonly request: SessionRequest;
  /**
   * Arrival time of the event, by this node's clock. A derived id depends on this time, not on the moment at which the owner
   * was given up, so that every node derives the same id after any wait.
   */
  readonly askedAtMs: number;
  readonly #done: (pending: PendingRequest) => void;
  current: SessionAnswer | undefined;
  earlier: SessionAnswer | undefined;
  outstanding = 0;

  constructor(request: SessionRequest, askedAtMs: number, done: (pending: PendingRequest) => void) {
    this.request = request;
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
  request: SessionRequest,
  current: SessionAnswer | undefined,
  earlier: SessionAnswer | undefined,
): FoundSession | undefined {
  const ofCurrent = current?.kind === 'ended' ? current : undefined;
  const ofEarlier = earlier?.kind === 'ended' ? earlier : undefined;
  const latest = latestOf(ofCurrent, ofEarlier, request.occurredAtMs);
  if (latest === undefined) return undefined;
  const deviceId = latest === ofCurrent ? request.deviceId : request.earlierDeviceId;
  return { kind: 'ended', deviceId, sessionId: latest.sessionId };
}

function keyOf(siteId: StoredId, deviceId: DeviceId): string {
  return `${siteId}\n${deviceId}`;
}

/** True if an event shortly before or within a session of this node joins it although the owner does not report that session. */
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
