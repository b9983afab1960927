const DAY_MS = 86_400_000;
/** 2200-01-01, where the store's range of times ends. */
const LATEST_MS = 7_258_118_400_000;

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/;

/**
 * Milliseconds since 1970 of an ISO 8601 text (UTC when it names no zone) or of epoch milliseconds as a number or as
 * digits. Undefined for anything else, for dates that do not exist, and outside 1970 to 2200.
 */
export function parseInstant(value: unknown): number | undefined {
  if (typeof value === 'number') return withinRange(value);
  if (typeof value !== 'string') return undefined;
  if (/^\d{1,15}(?:\.\d{1,9})?$/.test(value) && !/^\d{4}$/.test(value)) return withinRange(Number(value));
  const parts = ISO.exec(value);
  return parts === null ? undefined : withinRange(msOf(parts));
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
