import { BusError } from '../../infra/bus/bus-error.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Store } from '../../infra/store/store.ts';
import { decodeHotQuestion, encodeHotAnswer } from '../../processor/hot.ts';
import {
  COLUMN_TYPES,
  EVENTS_COLUMNS,
  EVENTS_TABLE,
  SESSIONS_COLUMNS,
  SESSIONS_TABLE,
} from '../../processor/rows.ts';
import type { HotView } from '../snapshot/hot-view.ts';
import { hotViewOver } from './hot-view.ts';
import { hoursOf } from './hours.ts';
import { type EventColumn, eventBytes, type Row, type SessionColumn } from './row-writer.ts';

const BYTES_MAX = 67_108_864;

/** An event of a visit, with the columns that questions about pages depend on. */
export interface VisitEvent {
  readonly id: string;
  /** Empty for an event without a session. */
  readonly sessionId: string;
  readonly projectId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly name: string;
  readonly atMs: number;
  readonly origin: string;
  readonly path: string;
  readonly title: string;
  readonly revenue: bigint;
  readonly currency: string;
  /** Further columns of its row. */
  readonly columns?: Row<EventColumn>;
}

/** An event with its visitor by the present state of its session, empty for none. */
export interface SeenEvent extends VisitEvent {
  readonly visitor: string;
}

/** A state of a session, with every column that dimensions use. */
export interface ModelVisit {
  readonly id: string;
  readonly projectId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** When its newest event was received. */
  readonly touchedAtMs?: number;
  /** The time of its newest event so far. */
  readonly newestAtMs?: number;
  /** True if an event of it names another profile or device, so its events determine the visitors. */
  readonly isMixed?: boolean;
  readonly screenViews: number;
  /** 0 when absent. */
  readonly otherEvents?: number;
  /** Minor units by currency. */
  readonly revenue: ReadonlyMap<string, bigint>;
  /** Pages, source and setting by column; missing ones are empty. */
  readonly texts: Readonly<Partial<Record<SessionColumn, string>>>;
}

interface VersionedVisit extends ModelVisit {
  readonly sign: number;
  readonly version: number;
}

interface VisitFlush {
  readonly flushNumber: number;
  readonly events: readonly VisitEvent[];
  readonly sessions: readonly VersionedVisit[];
  /** Further times that it changes: of the events whose visitor it renames, or whose session has another entry. */
  readonly renamed: readonly SiteTime[];
}

/** When something happened on a site. */
export interface SiteTime {
  readonly projectId: string;
  readonly atMs: number;
}

/** One lane as its owner holds it: open rows, and flushes that are not known to be complete. */
class VisitLane {
  readonly number: number;
  readonly events: VisitEvent[] = [];
  readonly visits = new Map<string, ModelVisit>();
  readonly flushes: VisitFlush[] = [];
  landed = 0;
  known = 0;
  #openEvents: VisitEvent[] = [];
  #renamed: SiteTime[] = [];
  readonly #changed = new Set<string>();
  readonly #cut = new Map<string, VersionedVisit>();

  constructor(number: number) {
    this.number = number;
  }

  add(event: VisitEvent): void {
    this.events.push(event);
    this.#openEvents.push(event);
    const visit = this.visits.get(event.sessionId);
    if (visit !== undefined) this.put(visit);
  }

  /** Sets the state of a session, which begins no later than its first event. */
  put(visit: ModelVisit): void {
    const events = this.events.filter(({ sessionId }) => sessionId === visit.id);
    const times = events.map(({ atMs }) => atMs);
    const known = this.visits.get(visit.id);
    const isSame = known?.profileId === visit.profileId && entryOf(known) === entryOf(visit);
    if (!isSame) this.#renamed.push(...events);
    this.visits.set(visit.id, {
      ...visit,
      startedAtMs: Math.min(visit.startedAtMs, ...times),
      newestAtMs: Math.max(0, ...times),
      isMixed:
        visit.isMixed === true ||
        events.some(
          ({ profileId, deviceId }) => profileId !== visit.profileId || deviceId !== visit.deviceId,
        ),
    });
    this.#changed.add(visit.id);
  }

  cut(): void {
    const flush = this.open();
    this.flushes.push(flush);
    for (const row of flush.sessions) if (row.sign > 0) this.#cut.set(row.id, row);
    this.#openEvents = [];
    this.#renamed = [];
    this.#changed.clear();
  }

  /** The flush that a cut would make now. */
  open(): VisitFlush {
    const sessions: VersionedVisit[] = [];
    for (const id of this.#changed) {
      const before = this.#cut.get(id);
      const now = this.visits.get(id);
      if (before !== undefined) sessions.push({ ...before, sign: -1 });
      if (now !== undefined) sessions.push({ ...now, sign: 1, version: (before?.version ?? 0) + 1 });
    }
    const renamed = [...this.#renamed];
    return { flushNumber: this.flushes.length + 1, events: [...this.#openEvents], sessions, renamed };
  }
}

/**
 * Visits on some lanes, whose flushes reach a store one by one, and the lanes' owners, called without a bus.
 */
export class Visits {
  readonly #lanes: readonly VisitLane[];

  constructor(lanes: number) {
    this.#lanes = Array.from({ length: lanes }, (_, number) => new VisitLane(number));
  }

  get lanes(): number {
    return this.#lanes.length;
  }

  add(lane: number, event: VisitEvent): void {
    this.#lanes[lane]?.add(event);
  }

  put(lane: number, visit: ModelVisit): void {
    this.#lanes[lane]?.put(visit);
  }

  visit(lane: number, id: string): ModelVisit | undefined {
    return this.#lanes[lane]?.visits.get(id);
  }

  events(projectId: string): SeenEvent[] {
    return this.#lanes.flatMap(({ events, visits }) =>
      events
        .filter((event) => event.projectId === projectId)
        .map((event) => ({
          ...event,
          visitor: visits.get(event.sessionId)?.profileId || event.profileId || event.deviceId,
        })),
    );
  }

  visits(projectId: string): ModelVisit[] {
    const visits = this.#lanes.flatMap((lane) => [...lane.visits.values()]);
    return visits.filter((visit) => visit.projectId === projectId);
  }

  /** Cuts the open rows of a lane into a flush. */
  cut(lane: number): void {
    this.#lanes[lane]?.cut();
  }

  /** Writes the oldest flush that is not in the store, with its marker among the sessions. */
  async land(lane: number, store: Store): Promise<void> {
    const owner = this.#lanes[lane];
    const flush = owner?.flushes[owner.landed];
    if (owner === undefined || flush === undefined) return;
    const key = `${lane}:${flush.flushNumber}`;
    const events = bytesOfEvents(lane, flush, flush.events);
    if (events.length > 0) await store.insertRowBinary(EVENTS_TABLE, EVENTS_COLUMNS, [events], key);
    const sessions = bytesOfSessions(lane, flush.flushNumber, [
      ...flush.sessions,
      ...markersOf(lane, flush.flushNumber),
    ]);
    await store.insertRowBinary(SESSIONS_TABLE, SESSIONS_COLUMNS, [sessions], key);
    owner.landed += 1;
  }

  /** The last flush that the owner knows to be complete. */
  known(lane: number): number {
    return this.#lanes[lane]?.known ?? 0;
  }

  /** The flush that `land` would write: its number, and the sites and times that it changes. */
  nextFlush(
    lane: number,
  ): { readonly flushNumber: number; readonly changes: readonly SiteTime[] } | undefined {
    const owner = this.#lanes[lane];
    const flush = owner?.flushes[owner.landed];
    if (flush === undefined) return undefined;
    return { flushNumber: flush.flushNumber, changes: changesOf(flush) };
  }

  /** Lets the owner know that every flush in the store is complete. */
  complete(lane: number): void {
    const owner = this.#lanes[lane];
    if (owner !== undefined) owner.known = owner.landed;
  }

  /** A new hot view. Owners of these lanes do not answer. */
  hotView(away: readonly number[] = []): HotView {
    const ask = async (subject: string, bytes: Uint8Array) => {
      const owner = this.#lanes[Number(subject.slice('hot.'.length))];
      if (owner === undefined || away.includes(owner.number)) {
        throw new BusError('no owner', 'no-responders', undefined);
      }
      const question = decodeHotQuestion(bytes);
      return hotAnswerOf(owner, question.kind === 'rows' ? question.held?.[owner.number] : undefined);
    };
    return hotViewOver(ask, this.lanes);
  }
}

/** The values from the beginning of a session, as a text. */
function entryOf({ texts }: ModelVisit): string {
  const { exitOrigin, exitPath, ...entry } = texts;
  return JSON.stringify(entry);
}

function changesOf({ events, sessions, renamed }: VisitFlush): SiteTime[] {
  return [
    ...renamed.map(({ projectId, atMs }) => ({ projectId, atMs })),
    ...events.map(({ projectId, atMs }) => ({ projectId, atMs })),
    ...sessions.map(({ projectId, startedAtMs }) => ({ projectId, atMs: startedAtMs })),
  ];
}

/** The rows of every site; a question uses only its own site's rows. `held`: the last flush that the asker has; then it gets the later ones. */
function hotAnswerOf(owner: VisitLane, held = owner.known): Uint8Array {
  const flushNumber = Math.min(held, owner.known);
  const hot = [...owner.flushes.slice(flushNumber), owner.open()];
  const events = Buffer.concat(hot.map((flush) => bytesOfEvents(owner.number, flush, flush.events)));
  const sessions = Buffer.concat(
    hot.map(({ flushNumber, sessions }) => bytesOfSessions(owner.number, flushNumber, sessions)),
  );
  const head = {
    kind: 'rows',
    partition: owner.number,
    flushNumber,
    storedFlush: owner.known,
    eventBytes: events.length,
    sessionBytes: sessions.length,
    eventRows: hot.reduce((sum, flush) => sum + flush.events.length, 0),
    sessionRows: hot.reduce((sum, flush) => sum + flush.sessions.length, 0),
    hours: hoursOf(hot.flatMap(changesOf).map(({ atMs }) => atMs)),
  } as const;
  return encodeHotAnswer(head, events, sessions);
}

function markersOf(lane: number, flushNumber: number): VersionedVisit[] {
  const marker = {
    id: lane.toString(16),
    projectId: '',
    deviceId: '',
    profileId: '',
    startedAtMs: 0,
    endedAtMs: 0,
    screenViews: 0,
    revenue: new Map<string, bigint>(),
    texts: {},
  };
  const now = { ...marker, sign: 1, version: flushNumber };
  return flushNumber === 1 ? [now] : [{ ...marker, sign: -1, version: flushNumber - 1 }, now];
}

function bytesOfEvents(lane: number, { flushNumber }: VisitFlush, events: readonly VisitEvent[]): Uint8Array {
  return eventBytes(
    events.map(({ atMs, columns, ...own }) => ({
      ...columns,
      ...own,
      createdAt: atMs,
      receivedAt: atMs,
      partition: lane,
      flushNumber,
    })),
  );
}

function bytesOfSessions(lane: number, flushNumber: number, rows: readonly VersionedVisit[]): Uint8Array {
  const writer = new RowBinaryWriter(BYTES_MAX);
  for (const row of rows) {
    const times = { startedAt: row.startedAtMs, endedAt: row.endedAtMs, touchedAt: row.touchedAtMs };
    const isCredited = (row.newestAtMs ?? 0) > row.endedAtMs;
    const profile = { mixed: row.isMixed === true ? 1 : 0, creditedAt: isCredited ? row.newestAtMs : 0 };
    const columns = { ...row, ...times, ...profile, partition: lane, flushNumber };
    const values = new Map<string, unknown>([...Object.entries(row.texts), ...Object.entries(columns)]);
    for (const column of SESSIONS_COLUMNS) {
      if (column === 'revenue') writeRevenue(writer, row.revenue);
      else writeValue(writer, COLUMN_TYPES[column] ?? 'String', values.get(column));
    }
  }
  return writer.take();
}

function writeRevenue(writer: RowBinaryWriter, revenue: ReadonlyMap<string, bigint>): void {
  writer.varint(revenue.size);
  for (const [currency, minorUnits] of revenue) {
    writer.string(currency);
    writer.i64(minorUnits);
  }
}

function writeValue(writer: RowBinaryWriter, type: string, value: unknown): void {
  if (type === 'String') writer.string(String(value ?? ''));
  else if (type === 'FixedString(16)') writer.hex(String(value ?? '').padStart(32, '0'));
  else if (type === 'Int8' || type === 'UInt8') writer.i8(Number(value ?? 0));
  else if (type === 'UInt16') writer.u16(Number(value ?? 0));
  else if (type === 'UInt32') writer.u32(Number(value ?? 0));
  else if (type === 'Float32') writer.f32(Number(value ?? 0));
  else writer.dateTime64Ms(Number(value ?? 0));
}
