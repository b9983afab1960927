import { DAY_MS, MINUTE_MS } from '../../../infra/durations.ts';
import { SESSION_END, SESSION_START } from '../../../ingest/event.ts';
import type { SeededRandom } from '../../../ingest/testing/random.ts';
import { type ModelVisit, type VisitEvent, Visits } from '../../testing/visits.ts';

const LANES = 2;
const CURRENCIES = ['EUR', 'USD', 'JPY'] as const;
const NAMES = ['screen_view', 'screen_view', 'screen_view', 'click', 'sign up'] as const;

/** An event of the model. */
export interface PersonEvent extends VisitEvent {
  /** It was credited to its session and changed none of the session's times. */
  readonly isCredited: boolean;
}

/** A session as its events define it. */
export interface SeenSession {
  readonly id: string;
  readonly profileId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly events: readonly PersonEvent[];
}

export interface PeopleOptions {
  readonly fromMs: number;
  readonly toMs: number;
  readonly people: number;
  /** Factor of every amount; 1 when absent. Large ones make sums that overflow 64 bits. */
  readonly amountScale?: bigint;
}

/** Events of people, in sessions and outside of them; each session's state follows from its events. */
export class PeopleTraffic {
  readonly visits = new Visits(LANES);
  /** In the order of arrival. */
  readonly events: PersonEvent[] = [];
  readonly #seeded: SeededRandom;
  readonly #options: PeopleOptions;

  constructor(seeded: SeededRandom, options: PeopleOptions) {
    this.#seeded = seeded;
    this.#options = options;
  }

  /** Adds events; many go to existing sessions. */
  add(count: number): void {
    for (let step = 0; step < count; step += 1) {
      const event = this.#next();
      const isFirst =
        event.sessionId !== '' && !this.events.some(({ sessionId }) => sessionId === event.sessionId);
      if (isFirst)
        this.put({ ...event, id: `0${event.id.slice(1)}`, name: SESSION_START, revenue: 0n, currency: '' });
      this.put(event);
    }
  }

  /** Adds one event, and the new state of its session. */
  put(event: PersonEvent): void {
    const lane = event.id.charCodeAt(event.id.length - 1) % LANES;
    const known = this.events.find(({ sessionId }) => sessionId !== '' && sessionId === event.sessionId);
    const owner = known === undefined ? lane : known.id.charCodeAt(known.id.length - 1) % LANES;
    this.events.push(event);
    if (event.sessionId !== '') this.visits.put(owner, this.#stateOf(event.sessionId));
    this.visits.add(owner, event);
  }

  /** Every session of the site. */
  sessions(): SeenSession[] {
    const ids = new Set(this.ours().map(({ sessionId }) => sessionId));
    ids.delete('');
    return [...ids].map((id) => seen(id, this.ours()));
  }

  /** Events of clients outside of sessions. */
  alone(): PersonEvent[] {
    return this.ours().filter(({ sessionId, name }) => sessionId === '' && !isSynthetic(name));
  }

  /** The events of the site. */
  ours(): PersonEvent[] {
    return this.events.filter(({ projectId }) => projectId === 'site');
  }

  #next(): PersonEvent {
    const seeded = this.#seeded;
    const { fromMs, toMs, people, amountScale = 1n } = this.#options;
    const number = this.events.length + 1;
    const projectId = seeded.chance(0.1) ? 'other' : 'site';
    const id = Math.imul(number, 0x9e3779b1)
      .toString(16)
      .replace('-', 'f')
      .padStart(31, '0')
      .padStart(32, '1');
    const isSale = seeded.chance(0.1);
    const event = {
      id,
      projectId,
      deviceId: `d${seeded.below(people * 2)}`,
      name: isSale ? 'revenue' : seeded.one(NAMES),
      origin: 'https://shop.example',
      path: `/${seeded.below(20)}`,
      title: '',
      revenue: isSale ? BigInt(seeded.integer(-500, 5_000)) * amountScale : 0n,
      currency: isSale ? seeded.one(CURRENCIES) : '',
      columns: { groups: seeded.chance(0.2) ? ['acme', 'other'] : [] },
    };
    const anyMs = fromMs + seeded.below(toMs - fromMs);
    const person = seeded.chance(0.5) ? `p${seeded.below(people)}` : '';
    if (seeded.chance(0.15))
      return { ...event, sessionId: '', profileId: person, atMs: anyMs, isCredited: false };
    const open = this.events.filter((other) => other.sessionId !== '' && other.projectId === projectId);
    const begun = seeded.chance(0.7) ? open[seeded.below(open.length)] : undefined;
    const sessionId = begun?.sessionId ?? `5e${number.toString(16)}`.padStart(32, '0');
    const isCredited = begun !== undefined && isSale && seeded.chance(0.5);
    const nearMs = (begun?.atMs ?? anyMs) + seeded.integer(-10, 20) * MINUTE_MS + seeded.below(1_000);
    const session = begun === undefined ? undefined : seen(sessionId, this.events);
    const atMs = isCredited && session !== undefined ? session.endedAtMs + 1 + seeded.below(DAY_MS) : nearMs;
    const profileId = begun === undefined || seeded.chance(0.9) ? (begun?.profileId ?? person) : person;
    return { ...event, deviceId: begun?.deviceId ?? event.deviceId, sessionId, profileId, atMs, isCredited };
  }

  #stateOf(sessionId: string): ModelVisit {
    const { events, startedAtMs, endedAtMs, profileId } = seen(sessionId, this.events);
    const counted = events.filter(({ name }) => !isSynthetic(name));
    const revenue = new Map<string, bigint>();
    for (const { currency, revenue: amount } of counted)
      if (currency !== '') revenue.set(currency, (revenue.get(currency) ?? 0n) + amount);
    return {
      id: sessionId,
      projectId: events[0]?.projectId ?? '',
      deviceId: events[0]?.deviceId ?? '',
      profileId,
      startedAtMs,
      endedAtMs,
      touchedAtMs: Math.max(...events.map(({ atMs }) => atMs)),
      screenViews: counted.filter(({ name }) => name === 'screen_view').length,
      otherEvents: counted.filter(({ name }) => name !== 'screen_view').length,
      revenue,
      texts: {},
    };
  }
}

/** A session from all of its events. Its profile is the last one named. */
function seen(id: string, all: readonly PersonEvent[]): SeenSession {
  const events = all.filter(({ sessionId }) => sessionId === id);
  const times = events.filter(({ isCredited }) => !isCredited).map(({ atMs }) => atMs);
  return {
    id,
    profileId: events.findLast(({ profileId }) => profileId !== '')?.profileId ?? '',
    startedAtMs: Math.min(...times),
    endedAtMs: Math.max(...times),
    events,
  };
}

/** True if the service adds events of this name. */
export function isSynthetic(name: string): boolean {
  return name === SESSION_START || name === SESSION_END;
}
