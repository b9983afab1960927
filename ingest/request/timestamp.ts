import { DAY_MS } from '../../infra/durations.ts';

/** 2200-01-01, where the store's range of times ends. */
const LATEST_MS = 7_258_118_400_000;
/** 1973-03-03. No event is older, and below it a number may be either seconds or milliseconds. */
const EARLIEST_NUMBER_MS = 100_000_000_000;

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/;

/**
 * Milliseconds since 1970 of an ISO 8601 text (UTC when it names no zone), or of a number or digits: epoch seconds where
 * that is a time from March 1973 to 2200, or else epoch milliseconds of such a time. Undefined for anything else, for
 * dates that do not exist, and outside 1970 to 2200.
 */
export function parseInstant(value: unknown): number | undefined {
  if (typeof value === 'number') return ofNumber(value);
  if (typeof value !== 'string') return undefined;
  if (/^\d{1,15}(?:\.\d{1,9})?$/.test(value)) return ofNumber(Number(value));
  const parts = ISO.exec(value);
  return parts === null ? undefined : withinRange(msOf(parts));
}

/** The two ranges do not overlap, so a number that is in neither is not guessed at. */
function ofNumber(value: number): number | undefined {
  // Rounded to microseconds first: a fraction of a second is rarely exact in binary.
  const ofSeconds = Math.round(value * 1_000_000) / 1000;
  if (ofSeconds >= EARLIEST_NUMBER_MS && ofSeconds < LATEST_MS) return Math.floor(ofSeconds);
  return value >= EARLIEST_NUMBER_MS ? withinRange(value) : undefined;
}

function msOf(parts: RegExpExecArray): number {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = parts;
  const midnightMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // Date.UTC turns a day that does not exist into another one.
  if (new Date(midnightMs).toISOString().slice(5, 10) !== `${month}-${day}`) return Number.NaN;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return Number.NaN;
  const milliseconds = Number(`${fraction}000`.slice(0, 3));
  const timeMs = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + milliseconds;
  return midnightMs + timeMs - zoneMs(zone);
}

function zoneMs(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0;
  const digits = zone.slice(1).replace(':', '');
  const ms = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || '0')) * 60_000;
  if (ms >= DAY_MS) return Number.NaN;
  return zone.startsWith('-') ? -ms : ms;
}

function withinRange(ms: number): number | undefined {
  // NaN and infinities fail the comparisons.
  return ms >= 0 && ms < LATEST_MS ? Math.floor(ms) : undefined;
}
