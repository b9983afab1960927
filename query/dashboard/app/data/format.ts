/** Numbers and dates as the reader's language writes them, times in the site's zone. */

const LOCALE = typeof navigator === 'undefined' ? 'en' : navigator.language;
const MINUTE_S = 60;
const COMPACT_FROM = 100_000;
/** Shown for a figure that does not exist. */
export const NONE = '–';

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
const twoDecimals = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 2 });
const compact = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 });
const countries = new Intl.DisplayNames([LOCALE], { type: 'region' });
const languages = new Intl.DisplayNames([LOCALE], { type: 'language' });

export function count(value: number): string {
  return whole.format(value);
}

/** Shortened where it is large, for places that are narrow. */
export function shortCount(value: number): string {
  return value >= COMPACT_FROM ? compact.format(value) : whole.format(value);
}

export function decimal(value: number): string {
  return twoDecimals.format(value);
}

/** `value` is 0 to 100. */
export function percent(value: number): string {
  return percents.format(value / 100);
}

/** A part of a whole as a percentage. */
export function share(part: number, of: number): string {
  return of === 0 ? NONE : percents.format(part / of);
}

export function duration(seconds: number): string {
  const rounded = Math.round(seconds);
  if (rounded < MINUTE_S) return `${whole.format(rounded)} s`;
  const minutes = Math.floor(rounded / MINUTE_S);
  if (minutes < MINUTE_S) return `${minutes} m ${String(rounded % MINUTE_S).padStart(2, '0')} s`;
  return `${oneDecimal.format(rounded / (MINUTE_S * MINUTE_S))} h`;
}

export function money(value: number, currency: string): string {
  const digits = Math.abs(value) >= 1_000 ? 0 : 2;
  return new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency,
    maximumFractionDigits: digits,
    minimumFractionDigits: 0,
  }).format(value);
}

export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (countries.of(code) ?? code) : code;
}

/** A path as people write it: `/größe` for `/gr%C3%B6%C3%9Fe`. */
export function path(given: string): string {
  try {
    return decodeURI(given);
  } catch {
    return given;
  }
}

export function language(code: string): string {
  try {
    return languages.of(code) ?? code;
  } catch {
    return code;
  }
}

/** The label of a bucket. Labels are the site's local time, so they are read as if they were UTC, and no zone shifts them. */
export function bucket(label: string, style: 'short' | 'long' = 'short'): string {
  const [day = '', time] = label.slice(0, 19).split(' ');
  const ms = Date.parse(`${day}T${time ?? '00:00:00'}Z`);
  if (Number.isNaN(ms)) return label;
  const shape: Intl.DateTimeFormatOptions =
    time === undefined
      ? { day: 'numeric', month: 'short', ...(style === 'long' && { weekday: 'short', year: 'numeric' }) }
      : { hour: '2-digit', minute: '2-digit', ...(style === 'long' && { day: 'numeric', month: 'short' }) };
  return new Intl.DateTimeFormat(LOCALE, { ...shape, timeZone: 'UTC' }).format(ms);
}

/** A month or a year of a bucket's label, for axes over long spans. */
export function month(label: string): string {
  return new Intl.DateTimeFormat(LOCALE, { month: 'short', year: 'numeric', timeZone: 'UTC' }).format(
    Date.parse(label.slice(0, 10)),
  );
}

/** Two days as a range, such as `3 – 9 Jan 2026`. */
export function days({ from, to }: { readonly from: string; readonly to: string }): string {
  const shape = new Intl.DateTimeFormat(LOCALE, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return from === to ? shape.format(Date.parse(from)) : shape.formatRange(Date.parse(from), Date.parse(to));
}

/** An instant, as clocks of a time zone show it. */
export function time(iso: string, timezone: string, style: 'time' | 'full' = 'full'): string {
  return new Intl.DateTimeFormat(LOCALE, {
    timeZone: timezone,
    ...(style === 'time' ? { timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'short' }),
  }).format(Date.parse(iso));
}
