import { MINUTE_MS } from '../../infra/durations.ts';
import { encodeHotAnswer, type HotMinute, type HotQuestion } from '../../processor/hot.ts';
import { hoursOf } from './hours.ts';
import { type EventColumn, eventBytes, type Row, type SessionColumn, sessionBytes } from './row-writer.ts';

/** An event of the model, with the columns that answers depend on. */
export interface ModelEvent {
  readonly id: string;
  readonly projectId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly name: string;
  readonly atMs: number;
  readonly revenue: bigint;
  readonly currency: string;
  /** Empty for an event without a session. */
  readonly sessionId: string;
}

/** An event with its visitor by the present state of its session, empty for none. */
export interface SeenModelEvent extends ModelEvent {
  readonly visitor: string;
}

/** A state of a session. */
export interface ModelSession {
  readonly id: string;
  readonly projectId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly screenViews: number;
  /** Empty by default. */
  readonly profileId?: string;
  /** The time of its newest event so far. */
  readonly newestAtMs?: number;
}

/** Rows added to the store by one flush. */
export interface ModelFlush {
  readonly flushNumber: number;
  readonly events: readonly Row<EventColumn>[];
  readonly sessions: readonly Row<SessionColumn>[];
}

interface Versioned {
  readonly state: ModelSession;
  readonly version: number;
}

/**
 * The owner of one lane as `processor/hot.ts` and `processor/rows.ts` promise it, in the plainest form: everything that was ever
 * added, the flushes not known to be complete, and the rows that are not cut yet.
 */
export class OwnerModel {
  readonly lane: number;
  readonly events: ModelEvent[] = [];
  readonly pending: ModelFlush[] = [];
  /** The last flush that is known to be complete. */
  flushNumber = 0;
  #nextFlush = 1;
  #openEvents: ModelEvent[] = [];
  readonly #sessions = new Map<string, ModelSession>();
  readonly #cut = new Map<string, Versioned>();
  readonly #changed = new Set<string>();

  constructor(lane: number) {
    this.lane = lane;
  }

  add(event: ModelEvent): void {
    this.events.push(event);
    this.#openEvents.push(event);
    const session = this.#sessions.get(event.sessionId);
    if (session !== undefined) this.put(session);
  }

  /** Sets the current state of a session, which begins no later than its first event. */
  put(state: ModelSession): void {
    const times = this.events.filter(({ sessionId }) => sessionId === state.id).map(({ atMs }) => atMs);
    this.#sessions.set(state.id, {
      ...state,
      startedAtMs: Math.min(state.startedAtMs, ...times),
      newestAtMs: Math.max(0, ...times),
    });
    this.#changed.add(state.id);
  }

  /** Every event, with its visitor. */
  seen(): SeenModelEvent[] {
    return this.events.map((event) => ({
      ...event,
      visitor: this.#sessions.get(event.sessionId)?.profileId || event.profileId || event.deviceId,
    }));
  }

  sessions(): readonly ModelSession[] {
    return [...this.#sessions.values()];
  }

  /** Cuts the open rows into a flush. */
  cut(): ModelFlush {
    const flush = this.#openFlush();
    for (const id of this.#changed) {
      const state = this.#sessions.get(id);
      if (state !== undefined) this.#cut.set(id, { state, version: (this.#cut.get(id)?.version ?? 0) + 1 });
    }
    this.#changed.clear();
    this.#openEvents = [];
    this.#nextFlush += 1;
    this.pending.push(flush);
    return flush;
  }

  /** Marks the oldest pending flush as stored. */
  complete(): void {
    this.flushNumber = this.pending.shift()?.flushNumber ?? this.flushNumber;
  }

  /** The answer to a request, in the bytes of the bus. */
  answer(question: HotQuestion): Uint8Array {
    switch (question.kind) {
      case 'rows':
        return this.#rowsAnswer(question.projectId);
      case 'minutes':
        return encodeHotAnswer({
          kind: 'minutes',
          partition: this.lane,
          minutes: this.#minutes(question.projectId, question.fromMs),
        });
      case 'live':
        return encodeHotAnswer({
          kind: 'live',
          visitors: this.#live(question.projectId, question.nowMs),
          profiles: [],
        });
      case 'live-details':
        return encodeHotAnswer({
          kind: 'live-details',
          visitors: this.#live(question.projectId, question.nowMs),
          profiles: [],
          pages: [
            [`/${this.lane}`, 2, []],
            ['/', 3, []],
          ],
          countries: [['DE', 1, []]],
          referrers: [],
        });
    }
  }

  #openFlush(): ModelFlush {
    const { lane } = this;
    const flushNumber = this.#nextFlush;
    const brought = { partition: lane, flushNumber };
    const sessions: Row<SessionColumn>[] = [];
    for (const id of this.#changed) {
      const before = this.#cut.get(id);
      const now = this.#sessions.get(id);
      const version = before?.version ?? 0;
      if (before !== undefined) sessions.push({ ...sessionRow(before.state), ...brought, version, sign: -1 });
      if (now !== undefined) sessions.push({ ...sessionRow(now), ...brought, version: version + 1, sign: 1 });
    }
    const marker = { ...brought, id: lane.toString(16) };
    if (flushNumber > 1) sessions.push({ ...marker, version: flushNumber - 1, sign: -1 });
    sessions.push({ ...marker, version: flushNumber, sign: 1 });
    return {
      flushNumber,
      events: this.#openEvents.map((event) => ({ ...eventRow(event), ...brought })),
      sessions,
    };
  }

  #rowsAnswer(projectId: string): Uint8Array {
    const flushes = [...this.pending, this.#openFlush()];
    const ours = (row: { readonly projectId?: unknown }) => row.projectId === projectId;
    const eventRows = flushes.flatMap(({ events }) => events.filter(ours));
    const sessionRows = flushes.flatMap(({ sessions }) => sessions.filter(ours));
    const events = eventBytes(eventRows);
    const sessions = sessionBytes(sessionRows);
    const head = {
      kind: 'rows',
      partition: this.lane,
      flushNumber: this.flushNumber,
      eventBytes: events.length,
      sessionBytes: sessions.length,
      eventRows: eventRows.length,
      sessionRows: sessionRows.length,
      hours: hoursOf([
        ...eventRows.map(({ createdAt }) => Number(createdAt)),
        ...sessionRows.map(({ startedAt }) => Number(startedAt)),
      ]),
    } as const;
    return encodeHotAnswer(head, events, sessions);
  }

  #live(projectId: string, nowMs: number): number {
    const live = this.events.filter((event) => event.projectId === projectId && event.atMs > nowMs - 300_000);
    return new Set(live.map(({ deviceId }) => deviceId)).size;
  }

  #minutes(projectId: string, fromMs: number): HotMinute[] {
    const events = this.seen().filter((event) => event.projectId === projectId && event.atMs >= fromMs);
    const sessions = this.sessions().filter(
      (session) => session.projectId === projectId && session.startedAtMs >= fromMs,
    );
    const times = [...events.map(({ atMs }) => atMs), ...sessions.map(({ startedAtMs }) => startedAtMs)];
    const minutes = new Set(times.map((atMs) => Math.floor(atMs / MINUTE_MS) * MINUTE_MS));
    return [...minutes].map((minuteMs) => minuteOf(minuteMs, events, sessions));
  }
}

function minuteOf(
  minuteMs: number,
  events: readonly SeenModelEvent[],
  sessions: readonly ModelSession[],
): HotMinute {
  const inIt = (atMs: number) => atMs >= minuteMs && atMs < minuteMs + MINUTE_MS;
  // The synthetic session_start and session_end are rows for the export; owners do not count them.
  const happened = events.filter(({ atMs, name }) => inIt(atMs) && !name.startsWith('session_'));
  const began = sessions.filter(({ startedAtMs }) => inIt(startedAtMs));
  const visitors = happened.map(({ visitor }) => visitor).filter((id) => id !== '');
  const revenue: Record<string, string> = {};
  for (const { revenue: amount, currency } of happened) {
    if (currency !== '') revenue[currency] = String(BigInt(revenue[currency] ?? '0') + amount);
  }
  return {
    minuteMs,
    screenViews: happened.filter(({ name }) => name === 'screen_view').length,
    otherEvents: happened.filter(({ name }) => name !== 'screen_view').length,
    sessions: began.length,
    bounces: began.filter(({ screenViews }) => screenViews <= 1).length,
    durationMs: began.reduce((sum, { startedAtMs, endedAtMs }) => sum + endedAtMs - startedAtMs, 0),
    revenue,
    visitors: [...new Set(visitors)].map(hashOf),
  };
}

/** Any hash works as long as no two visitors share it. The ids of tests are short. */
function hashOf(visitor: string): number {
  return Number.parseInt(Buffer.from(visitor).toString('hex').slice(0, 12), 16);
}

function eventRow(event: ModelEvent): Row<EventColumn> {
  const { atMs, ...columns } = event;
  return { ...columns, createdAt: atMs, receivedAt: atMs, path: '/', groups: ['g'], properties: ['k', 'v'] };
}

function sessionRow({
  startedAtMs,
  endedAtMs,
  newestAtMs = 0,
  ...columns
}: ModelSession): Row<SessionColumn> {
  const times = { startedAt: startedAtMs, endedAt: endedAtMs, touchedAt: endedAtMs, creditedAt: newestAtMs };
  return { ...columns, ...times, mixed: columns.profileId ? 1 : 0 };
}
