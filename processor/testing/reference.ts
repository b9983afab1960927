import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { laneOf, routingKeyOf, SCREEN_VIEW, SESSION_GAP_MS, sessionIdOf } from '../../ingest/event.ts';

/**
 * The oracle: the meaning of the stream, computed as plainly as possible. Two shortcuts change no answer: it keeps the
 * sessions of each device in a list of their own, and looks for sessions to evict only once one is due. The rules:
 *
 * 1. Order is arrival. Each lane has a receive clock: the greatest `receivedAtMs` (or tick) seen so far.
 * 2. An event whose `eventId` was seen on its site no more than 24 h ago by this clock is a repeat; it changes nothing.
 * 3. A session whose last event arrived more than `retainMs` ago by this clock is evicted: nothing joins it any more.
 * 4. An event with a certain answer joins the session of its (site, device) with the answered id, or opens it. Any
 *    other event at time t joins one of the unevicted sessions of its (site, device):
 *    a. the one with the answered id, if start - gap <= t <= end + gap; otherwise
 *    b. the latest-starting one with start <= t <= end + gap; otherwise
 *    c. the earliest-starting one with t < start and start - t <= gap, which then starts earlier; otherwise
 *    d. the one with the answered id, however far: the event has overtaken the events between; otherwise
 *    e. it opens a session with the answered id, or with the derived one.
 *
 *     The gap is inclusive. Between equal starts the greater id is the later. Sessions never merge, even if a late event
 *     closes the gap between two: their ids have been given out.
 *
 *        session A          session B
 *        |--*---*--|        |---*---|          gap = the dotted reach of each, on both sides
 *      ..|         |.. x  ..|       |..        x reaches neither: a third session
 *
 * 5. A session's entry is its earliest event, its exit the latest; a screen view beats anything else; of equal times
 *    the first arrival is the entry, the last arrival the exit. Its profile is the last one named by its events, in the
 *    order of arrival.
 * 6. A session writes `session_start` when it opens, with the time of the opening event, and `session_end` when it is
 *    evicted, with the time of its end. These rows never count in any figure.
 * 7. Events without device or answered with an empty session have no session.
 * 8. An event for credit goes to the session of its (site, device) with the answered id, even an evicted one: the
 *    session is reopened, and its end is not written again. If it reaches the event by rule 4a, the event joins it like
 *    any other. Otherwise the event is credited: it counts among the session's other events and its revenue, and renews
 *    the retention; start, end, entry and exit stay. Without such a session, rule 4 holds.
 * 9. The visitor of an event is the profile of its session; without one, its own profile; without one, its device.
 */
export interface ReferenceEvent {
  readonly projectId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly eventId: string;
  readonly name: string;
  readonly occurredAtMs: number;
  readonly receivedAtMs: number;
  /** The id that was answered; undefined if the answer is not known, and the id is derived. */
  readonly sessionId: string | undefined;
  /** Rule 8 applies; absent where nothing is paid late. */
  readonly credit?: boolean;
  /** The answer binds; absent where it does not. */
  readonly certain?: boolean;
  readonly revenue: bigint | undefined;
  readonly currency: string;
  readonly origin: string;
  readonly path: string;
  readonly source: unknown;
  readonly environment: unknown;
}

/** Time passes on every lane and nothing else happens. */
export interface Tick {
  readonly tickAtMs: number;
}

export interface ReferenceOptions {
  readonly retainMs: number;
  /** The number of receive clocks; 1 by default. */
  readonly lanes?: number;
}

/** An event that counts, and its session; empty without one. */
export interface PlacedEvent {
  readonly event: ReferenceEvent;
  readonly sessionId: string;
}

export interface SyntheticEvent {
  readonly name: 'session_start' | 'session_end';
  readonly projectId: string;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly createdAtMs: number;
}

export interface ReferenceSession {
  readonly projectId: string;
  readonly deviceId: string;
  readonly id: string;
  readonly profileId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The receive clock when its last event arrived. */
  readonly touchedAtMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly revenue: Readonly<Record<string, bigint>>;
  readonly entry: ReferenceEvent;
  readonly exit: ReferenceEvent;
  readonly evicted: boolean;
  /** Its last event came after its end had been written. */
  readonly reopened: boolean;
}

export interface ReferenceResult {
  /** In the order of arrival, without repeats. */
  readonly events: readonly PlacedEvent[];
  /** By site, device, start and id. */
  readonly sessions: readonly ReferenceSession[];
  readonly synthetic: readonly SyntheticEvent[];
}

/** Computes everything from the list of arrivals; see the rules at the top. */
export function reference(
  arrivals: readonly (ReferenceEvent | Tick)[],
  options: ReferenceOptions,
): ReferenceResult {
  const lanes = Array.from({ length: options.lanes ?? 1 }, () => new Lane(options.retainMs));
  const events: PlacedEvent[] = [];
  for (const arrival of arrivals) {
    if ('tickAtMs' in arrival) {
      for (const lane of lanes) lane.advance(arrival.tickAtMs);
      continue;
    }
    const number = laneOf(storedId(arrival.projectId), routingKeyOf(arrival), {
      lanes: lanes.length,
      storeShards: 1,
    });
    const sessionId = lanes[number]?.take(arrival);
    if (sessionId !== undefined) events.push({ event: arrival, sessionId });
  }
  return {
    events,
    sessions: lanes
      .flatMap(({ sessions }) => sessions)
      .map(summary)
      .sort(inOrder),
    synthetic: lanes.flatMap(({ synthetic }) => synthetic),
  };
}

/** A session as the list of its arrivals; everything else follows from the list. */
interface SessionLog {
  readonly id: string;
  readonly arrivals: ReferenceEvent[];
  /** Events that were only credited to it. */
  readonly credits: ReferenceEvent[];
  /** The profile that was named last; empty for none. */
  profileId: string;
  touchedAtMs: number;
  evicted: boolean;
  /** Its end was written. */
  ended: boolean;
  reopened: boolean;
}

class Lane {
  readonly #retainMs: number;
  readonly #firstSeenAtMs = new Map<string, number>();
  readonly sessions: SessionLog[] = [];
  /** The same by site and device. */
  readonly #ofDevices = new Map<string, SessionLog[]>();
  readonly synthetic: SyntheticEvent[] = [];
  #clockMs = Number.NEGATIVE_INFINITY;
  /** At most the earliest `touchedAtMs` of a session that is not evicted. */
  #touchedSinceMs = Number.POSITIVE_INFINITY;

  constructor(retainMs: number) {
    this.#retainMs = retainMs;
  }

  advance(toMs: number): void {
    this.#clockMs = Math.max(this.#clockMs, toMs);
    if (this.#clockMs - this.#touchedSinceMs <= this.#retainMs) return;
    this.#touchedSinceMs = Number.POSITIVE_INFINITY;
    for (const session of this.sessions) {
      if (session.evicted) continue;
      if (this.#clockMs - session.touchedAtMs <= this.#retainMs) {
        this.#touchedSinceMs = Math.min(this.#touchedSinceMs, session.touchedAtMs);
        continue;
      }
      session.evicted = true;
      if (!session.ended) this.#write('session_end', session, endOf(session));
      session.ended = true;
    }
  }

  /** The session of an event, empty for none; undefined when the event is a repeat. */
  take(event: ReferenceEvent): string | undefined {
    this.advance(event.receivedAtMs);
    if (this.#isRepeat(event)) return undefined;
    if (event.deviceId === '' || event.sessionId === '') return '';
    const named = event.credit ? this.#named(event) : undefined;
    const session = named ?? this.#sessionFor(event) ?? this.#open(event);
    const isCredit = named !== undefined && !reaches(named, event.occurredAtMs);
    (isCredit ? session.credits : session.arrivals).push(event);
    if (event.profileId !== '') session.profileId = event.profileId;
    session.evicted = false;
    session.reopened = session.ended;
    session.touchedAtMs = this.#clockMs;
    this.#touchedSinceMs = Math.min(this.#touchedSinceMs, this.#clockMs);
    if (session.arrivals.length === 1 && !isCredit) this.#write('session_start', session, event.occurredAtMs);
    return session.id;
  }

  #isRepeat({ projectId, eventId }: ReferenceEvent): boolean {
    if (eventId === '') return false;
    const key = JSON.stringify([projectId, eventId]);
    const firstSeenAtMs = this.#firstSeenAtMs.get(key);
    if (firstSeenAtMs !== undefined && this.#clockMs - firstSeenAtMs <= DAY_MS) return true;
    this.#firstSeenAtMs.set(key, this.#clockMs);
    return false;
  }

  #sessionFor(event: ReferenceEvent): SessionLog | undefined {
    const at = event.occurredAtMs;
    const held = this.#ofDevice(event)
      .filter((session) => !session.evicted)
      .sort((a, b) => startOf(a) - startOf(b) || compare(a.id, b.id));
    if (event.certain) return held.find((session) => session.id === event.sessionId);
    return (
      held.find((session) => session.id === event.sessionId && reaches(session, at)) ??
      held.findLast((session) => startOf(session) <= at && at <= endOf(session) + SESSION_GAP_MS) ??
      held.find((session) => at < startOf(session) && startOf(session) - at <= SESSION_GAP_MS) ??
      held.find((session) => session.id === event.sessionId)
    );
  }

  /** The session that an event for credit was answered, evicted or not. */
  #named(event: ReferenceEvent): SessionLog | undefined {
    return this.#ofDevice(event).findLast((session) => session.id === event.sessionId);
  }

  /** In the order in which they were opened. */
  #ofDevice({ projectId, deviceId }: ReferenceEvent): SessionLog[] {
    const key = JSON.stringify([projectId, deviceId]);
    const known = this.#ofDevices.get(key) ?? [];
    this.#ofDevices.set(key, known);
    return known;
  }

  #open(event: ReferenceEvent): SessionLog {
    const { projectId, deviceId, occurredAtMs, receivedAtMs } = event;
    const id = event.sessionId ?? sessionIdOf(storedId(projectId), deviceId, occurredAtMs, receivedAtMs);
    const session = {
      id,
      arrivals: [],
      credits: [],
      profileId: '',
      touchedAtMs: this.#clockMs,
      evicted: false,
      ended: false,
      reopened: false,
    };
    this.sessions.push(session);
    this.#ofDevice(event).push(session);
    return session;
  }

  #write(name: SyntheticEvent['name'], session: SessionLog, createdAtMs: number): void {
    const { projectId, deviceId } = firstOf(session.arrivals);
    this.synthetic.push({ name, projectId, deviceId, sessionId: session.id, createdAtMs });
  }
}

/** Sums over a span of time. Sessions count where they began; events where they happened. */
export interface Figures {
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly visitors: number;
  readonly sessions: number;
  readonly bounces: number;
  /** Sum over the sessions. */
  readonly durationMs: number;
  readonly revenue: Readonly<Record<string, bigint>>;
}

/** One site's figures from `fromMs` up to and not including `untilMs`. */
export function figures(
  all: ReferenceResult,
  span: { readonly projectId: string; readonly fromMs: number; readonly untilMs: number },
): Figures {
  const within = (ms: number) => ms >= span.fromMs && ms < span.untilMs;
  const placed = all.events.filter(
    ({ event }) => event.projectId === span.projectId && within(event.occurredAtMs),
  );
  const events = placed.map(({ event }) => event);
  const sessions = all.sessions.filter(
    (session) => session.projectId === span.projectId && within(session.startedAtMs),
  );
  return {
    screenViews: events.filter(isView).length,
    otherEvents: events.filter((event) => !isView(event)).length,
    visitors: visitorsOf(all, placed).size,
    sessions: sessions.length,
    bounces: sessions.filter((session) => session.screenViews <= 1).length,
    durationMs: sessions.reduce((sum, session) => sum + session.endedAtMs - session.startedAtMs, 0),
    revenue: revenueOf(events),
  };
}

/** The visitors of a site who have an event in a session, credited or not, in the five minutes up to `nowMs`. */
export function liveVisitors(all: ReferenceResult, projectId: string, nowMs: number): number {
  const live = all.events.filter(
    ({ event, sessionId }) =>
      event.projectId === projectId &&
      sessionId !== '' &&
      event.occurredAtMs <= nowMs &&
      event.occurredAtMs > nowMs - 300_000,
  );
  return visitorsOf(all, live).size;
}

/** The distinct visitors of events, by rule 9. */
export function visitorsOf(
  { sessions }: Pick<ReferenceResult, 'sessions'>,
  events: readonly PlacedEvent[],
): ReadonlySet<string> {
  const keyOf = (...parts: readonly string[]) => JSON.stringify(parts);
  const profiles = new Map(
    sessions.map(({ projectId, deviceId, id, profileId }) => [keyOf(projectId, deviceId, id), profileId]),
  );
  const visitors = events.map(({ event: { projectId, deviceId, profileId }, sessionId }) =>
    sessionId === ''
      ? profileId || deviceId
      : profiles.get(keyOf(projectId, deviceId, sessionId)) || profileId || deviceId,
  );
  return new Set(visitors.filter((visitor) => visitor !== ''));
}

function summary(session: SessionLog): ReferenceSession {
  const { arrivals, credits } = session;
  const { projectId, deviceId } = firstOf(arrivals);
  return {
    projectId,
    deviceId,
    id: session.id,
    profileId: session.profileId,
    startedAtMs: startOf(session),
    endedAtMs: endOf(session),
    touchedAtMs: session.touchedAtMs,
    screenViews: arrivals.filter(isView).length,
    otherEvents: arrivals.filter((event) => !isView(event)).length + credits.length,
    revenue: revenueOf([...arrivals, ...credits]),
    entry: arrivals.reduce((entry, event) => (beatsAsEntry(event, entry) ? event : entry)),
    exit: arrivals.reduce((exit, event) => (beatsAsExit(event, exit) ? event : exit)),
    evicted: session.evicted,
    reopened: session.reopened,
  };
}

function beatsAsEntry(event: ReferenceEvent, entry: ReferenceEvent): boolean {
  if (isView(event) !== isView(entry)) return isView(event);
  return event.occurredAtMs < entry.occurredAtMs;
}

function beatsAsExit(event: ReferenceEvent, exit: ReferenceEvent): boolean {
  if (isView(event) !== isView(exit)) return isView(event);
  return event.occurredAtMs >= exit.occurredAtMs;
}

function isView(event: ReferenceEvent): boolean {
  return event.name === SCREEN_VIEW;
}

function reaches(session: SessionLog, atMs: number): boolean {
  return startOf(session) - SESSION_GAP_MS <= atMs && atMs <= endOf(session) + SESSION_GAP_MS;
}

function startOf(session: SessionLog): number {
  return Math.min(...session.arrivals.map(({ occurredAtMs }) => occurredAtMs));
}

function endOf(session: SessionLog): number {
  return Math.max(...session.arrivals.map(({ occurredAtMs }) => occurredAtMs));
}

function revenueOf(events: readonly ReferenceEvent[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {};
  for (const { revenue, currency } of events)
    if (revenue !== undefined) sums[currency] = (sums[currency] ?? 0n) + revenue;
  return sums;
}

function firstOf(arrivals: readonly ReferenceEvent[]): ReferenceEvent {
  const [first] = arrivals;
  if (first === undefined) throw new Error('a session has at least one event');
  return first;
}

function inOrder(a: ReferenceSession, b: ReferenceSession): number {
  const key = (session: ReferenceSession) => JSON.stringify([session.projectId, session.deviceId]);
  return compare(key(a), key(b)) || a.startedAtMs - b.startedAtMs || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
