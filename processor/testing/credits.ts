import fc from 'fast-check';
import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, REVENUE, SESSION_GAP_MS } from '../../ingest/event.ts';
import { eventLists, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { type ReferenceResult, type ReferenceSession, reference } from './reference.ts';

/** When a payment happened, relative to the session that it is for: on both sides of its reach, or at its receipt. */
const PLACES = [
  'received',
  'before reach',
  'reach before',
  'within',
  'reach behind',
  'behind reach',
] as const;

interface Payment {
  /** Precedes this event of the list, and is for this session among the earlier ones. */
  readonly before: number;
  readonly session: number;
  readonly place: (typeof PLACES)[number];
  /** The time after the arrival before it: none, or longer than any retention. */
  readonly waitMs: number;
  readonly minorUnits: bigint;
  readonly profileId: string;
  readonly withEventId: boolean;
  readonly again: boolean;
  /** It was answered the id of a session that does not exist yet. */
  readonly ofNone: boolean;
}

const rarely = fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0);

const payment: fc.Arbitrary<Payment> = fc.record({
  before: fc.nat(),
  session: fc.nat(),
  place: fc.constantFrom(...PLACES),
  waitMs: fc.oneof(
    fc.integer({ min: 0, max: 10_000 }),
    fc.integer({ min: 0, max: 3 * SESSION_GAP_MS }),
    fc.integer({ min: 0, max: 3 * DAY_MS }),
  ),
  minorUnits: fc.bigInt({ min: -1_000_000n, max: 1_000_000n }),
  profileId: fc.constantFrom('', 'payer'),
  withEventId: fc.boolean(),
  again: rarely,
  ofNone: rarely,
});

/**
 * Lists of events with payments among them, credited to sessions of which most have ended by then. Each payment carries a session id as an
 * owner would answer it: the id of an existing session.
 */
export function creditLists(
  size: { readonly maxLength: number } = { maxLength: 40 },
): fc.Arbitrary<readonly Event[]> {
  return fc
    .tuple(eventLists(size), fc.array(payment, { minLength: 1, maxLength: 8 }))
    .map(([events, payments]) => payments.reduce(withPayment, events))
    .filter(hasUniqueSessionIds);
}

function withPayment(events: readonly Event[], drawn: Payment, index: number): readonly Event[] {
  const place = drawn.before % (events.length + 1);
  const before = events.slice(0, place);
  const { sessions } = referenceOf(before);
  const session = sessions[drawn.session % sessions.length];
  if (session === undefined) return events;
  const receivedAtMs = (before.at(-1)?.receivedAtMs ?? START_MS) + drawn.waitMs;
  const event = plainEvent({
    projectId: storedId(session.projectId),
    deviceId: session.deviceId,
    profileId: drawn.profileId,
    eventId: drawn.withEventId ? `payment-${index}` : '',
    name: REVENUE,
    occurredAtMs: timeOf(drawn, session, receivedAtMs),
    receivedAtMs,
    sessionId: drawn.ofNone ? `c${index}`.padStart(32, '0') : session.id,
    credit: true,
    revenue: drawn.minorUnits,
    currency: 'EUR',
    path: '/paid',
  });
  const behind = events
    .slice(place)
    .map((later) => ({ ...later, receivedAtMs: later.receivedAtMs + drawn.waitMs }));
  return [...before, event, ...(drawn.again ? [event] : []), ...behind];
}

function timeOf({ place }: Payment, session: ReferenceSession, receivedAtMs: number): number {
  switch (place) {
    case 'received':
      return receivedAtMs;
    case 'before reach':
      return session.startedAtMs - SESSION_GAP_MS - 1;
    case 'reach before':
      return session.startedAtMs - SESSION_GAP_MS;
    case 'within':
      return session.startedAtMs;
    case 'reach behind':
      return session.endedAtMs + SESSION_GAP_MS;
    case 'behind reach':
      return session.endedAtMs + SESSION_GAP_MS + 1;
  }
}

/**
 * True if every session has an id of its own. A drawn list may answer a session's id to an event after the eviction of the session, so that
 * a second session opens under it; a collector remembers an answer for a shorter time.
 */
export function hasUniqueSessionIds(events: readonly Event[]): boolean {
  const ids = referenceOf(events).sessions.map(({ id }) => id);
  return new Set(ids).size === ids.length;
}

function referenceOf(events: readonly Event[]): ReferenceResult {
  return reference(events, { retainMs: 2 * SESSION_GAP_MS });
}
