import { must } from '../../infra/assert.ts';
import {
  decodeHotAnswer,
  encodeHotAnswer,
  type HotAnswer,
  type HotHead,
  type HotMinute,
  type LivePart,
} from '../hot.ts';

/** Room for the head of an answer with rows, and for the bus's own part of a message. */
const HEAD_BYTES = 65_536;

/**
 * Merges the answers of a lane's slices, which were made at the same point of the stream and of the flushes, into one. Its reader adds up
 * repeated values, as it does for several lanes. `version` is the one to write it in. Returns undefined if the slices
 * answered as of different flushes: a slice may lack the rows of the newest ones.
 */
export function mergeHotAnswers(
  answers: readonly Uint8Array[],
  { version, messageMaxBytes }: { readonly version: number; readonly messageMaxBytes: number },
): Uint8Array | undefined {
  const parts = answers.map(decodeHotAnswer);
  const flushes = parts.flatMap(({ head }) => (head.kind === 'rows' ? [head.flushNumber] : []));
  if (flushes.some((flush) => flush !== flushes[0])) return undefined;
  const events = Buffer.concat(parts.map((part) => part.events));
  const sessions = Buffer.concat(parts.map((part) => part.sessions));
  const head = mergeHeads(parts);
  if (head.kind === 'rows' && events.length + sessions.length > messageMaxBytes - HEAD_BYTES)
    return encodeHotAnswer({ kind: 'unavailable', reason: 'too-large' });
  return encodeHotAnswer(head, events, sessions, version);
}

function mergeHeads(parts: readonly HotAnswer[]): HotHead {
  const heads = parts.map(({ head }) => head);
  const first = must(heads[0], 'a lane has a slice');
  const unavailable = heads.find(({ kind }) => kind === 'unavailable');
  if (unavailable !== undefined) return unavailable;
  const of = <Kind extends HotHead['kind']>(kind: Kind) =>
    heads.filter((head): head is Extract<HotHead, { kind: Kind }> => head.kind === kind);
  switch (first.kind) {
    case 'live':
      return { kind: 'live', ...mergeVisitors(of('live')) };
    case 'live-details': {
      const parts = of('live-details');
      return {
        kind: 'live-details',
        ...mergeVisitors(parts),
        pages: parts.flatMap(({ pages }) => pages),
        countries: parts.flatMap(({ countries }) => countries),
        referrers: parts.flatMap(({ referrers }) => referrers),
      };
    }
    case 'minutes':
      return { ...first, minutes: mergeMinutes(of('minutes').flatMap(({ minutes }) => minutes)) };
    case 'rows': {
      const parts = of('rows');
      const sum = (name: 'eventBytes' | 'sessionBytes' | 'eventRows' | 'sessionRows') =>
        parts.reduce((total, part) => total + part[name], 0);
      return {
        ...first,
        eventBytes: sum('eventBytes'),
        sessionBytes: sum('sessionBytes'),
        eventRows: sum('eventRows'),
        sessionRows: sum('sessionRows'),
        hours: [...new Set(parts.flatMap(({ hours }) => hours))],
      };
    }
    case 'unavailable':
      return first;
  }
}

/** A device is live on one slice; a profile may be live on several. */
export function mergeVisitors(parts: readonly LivePart[]): LivePart {
  return {
    visitors: parts.reduce((sum, { visitors }) => sum + visitors, 0),
    profiles: [...new Set(parts.flatMap(({ profiles }) => profiles))],
  };
}

/** Counts of the same minute added up, and its visitors united. */
function mergeMinutes(parts: readonly HotMinute[]): HotMinute[] {
  const byTime = new Map<number, HotMinute>();
  for (const part of parts) {
    const known = byTime.get(part.minuteMs);
    byTime.set(part.minuteMs, known === undefined ? part : addMinutes(known, part));
  }
  return [...byTime.values()];
}

function addMinutes(one: HotMinute, other: HotMinute): HotMinute {
  const revenue: Record<string, string> = { ...one.revenue };
  for (const [currency, minorUnits] of Object.entries(other.revenue))
    revenue[currency] = (BigInt(revenue[currency] ?? '0') + BigInt(minorUnits)).toString();
  return {
    minuteMs: one.minuteMs,
    screenViews: one.screenViews + other.screenViews,
    otherEvents: one.otherEvents + other.otherEvents,
    sessions: one.sessions + other.sessions,
    bounces: one.bounces + other.bounces,
    durationMs: one.durationMs + other.durationMs,
    revenue,
    visitors: [...new Set([...one.visitors, ...other.visitors])],
  };
}
