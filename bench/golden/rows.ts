import type { z } from 'zod';
import { MINUTE_MS } from '../../infra/durations.ts';
import { exportedEvent } from '../../query/api.ts';

/** An exported event with every field group included. */
export const wholeEvent = exportedEvent.required();
export type WholeEvent = Readonly<z.output<typeof wholeEvent>>;

export interface Row {
  readonly event: WholeEvent;
  readonly atMs: number;
  /** Minor units of its currency. */
  readonly amount: bigint;
  readonly isView: boolean;
  /** `session_start` and `session_end`, which no client sent. */
  readonly isSynthetic: boolean;
  /** The profile of its session, else its own, else the device; empty where none is known. */
  readonly visitor: string;
}

/** The combined rows of one session id. */
export interface Session {
  readonly id: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly visitor: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly views: number;
  readonly others: number;
  /** Minor units by currency. */
  readonly revenue: ReadonlyMap<string, bigint>;
  /** The first screen view, else the first event: it gives the session its page, source and environment. */
  readonly entry: Row;
  /** The last screen view, else the last event. */
  readonly exit: Row;
}

const GAP_MS = 30 * MINUTE_MS;
const DECIMALS: Readonly<Record<string, number>> = { EUR: 2, USD: 2, JPY: 0, KWD: 3, '': 0 };

/** The row of an event, with the visitor that the event itself names. */
export function rowOf(event: WholeEvent): Row {
  const { name, deviceId, profileId, revenue, currency } = event;
  return {
    event,
    atMs: Date.parse(event.createdAt),
    amount: minorUnits(revenue ?? 0, currency),
    isView: name === 'screen_view',
    isSynthetic: name === 'session_start' || name === 'session_end',
    visitor: profileId || deviceId,
  };
}

/** The sessions that the rows of one site make. */
export function sessionsOf(rows: readonly Row[]): Session[] {
  const byId = new Map<string, Row[]>();
  for (const row of rows) {
    const { sessionId } = row.event;
    if (sessionId !== '' && !row.isSynthetic) byId.set(sessionId, [...(byId.get(sessionId) ?? []), row]);
  }
  return [...byId].map(([id, members]) => sessionOf(id, members));
}

/** The rows with the visitors that their sessions name. */
export function ofVisitors(rows: readonly Row[], sessionById: ReadonlyMap<string, Session>): Row[] {
  return rows.map((row) => ({
    ...row,
    visitor: sessionById.get(row.event.sessionId)?.profileId || row.visitor,
  }));
}

function sessionOf(id: string, members: readonly Row[]): Session {
  const own = lived(members).sort((a, b) => a.atMs - b.atMs);
  const entry = own.find(({ isView }) => isView) ?? own[0];
  const exit = own.findLast(({ isView }) => isView) ?? own.at(-1);
  const last = own.at(-1);
  if (entry === undefined || exit === undefined || last === undefined)
    throw new Error(`no event opened ${id}`);
  // A visit belongs to the profile named last, in the order of arrival.
  const arrived = [...members].sort((a, b) => (a.event.meta.receivedAt < b.event.meta.receivedAt ? -1 : 1));
  const profileId = arrived.findLast(({ event }) => event.profileId !== '')?.event.profileId ?? '';
  const { deviceId } = entry.event;
  return {
    id,
    deviceId,
    profileId,
    visitor: profileId || deviceId,
    startMs: own[0]?.atMs ?? 0,
    endMs: last.atMs,
    views: members.filter(({ isView }) => isView).length,
    others: members.filter(({ isView }) => !isView).length,
    revenue: revenueOf(members),
    entry,
    exit,
  };
}

/**
 * The events that belong to a visit's course. Revenue that lies near no other event of the visit came after its end and
 * is credited to it only.
 */
function lived(members: readonly Row[]): Row[] {
  const paid = members.filter(({ event }) => event.name === 'revenue').sort((a, b) => a.atMs - b.atMs);
  const own = members.filter(({ event }) => event.name !== 'revenue');
  if (own.length === 0) own.push(...paid.splice(0, 1));
  const isNear = ({ atMs }: Row) => own.some((other) => Math.abs(other.atMs - atMs) <= GAP_MS);
  for (;;) {
    const place = paid.findIndex(isNear);
    if (place === -1) return own;
    own.push(...paid.splice(place, 1));
  }
}

/** Sums by currency, without zero sums. */
export function revenueOf(rows: readonly Row[]): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { amount, event } of rows) {
    if (amount !== 0n) sums.set(event.currency, (sums.get(event.currency) ?? 0n) + amount);
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0n));
}

function minorUnits(amount: number, currency: string): bigint {
  return BigInt(Math.round(amount * 10 ** decimalsOf(currency)));
}

export function majorUnits(amount: bigint, currency: string): number {
  return Number(`${amount}e-${decimalsOf(currency)}`);
}

function decimalsOf(currency: string): number {
  const decimals = DECIMALS[currency];
  if (decimals === undefined) throw new Error(`no currency ${currency}`);
  return decimals;
}
