import { DAY_MS, MINUTE_MS } from '../../infra/durations.ts';

/**
 * A site's calendar by enumeration: every half hour of some years with the site's local time, from the runtime's zone tables.
 * Slow, and without arithmetic on offsets. It serves zones whose offsets are multiples of half an hour and whose clocks never
 * change at midnight.
 */
const HALF_HOUR_MS = 30 * MINUTE_MS;

/** `YYYY-MM-DD`; sorts as days do. */
export type DateText = string;

interface HalfHour {
  readonly atMs: number;
  readonly date: DateText;
  /** `HH:MM` */
  readonly time: string;
}

export class Calendar {
  readonly #halfHours: readonly HalfHour[];
  readonly #firstMs: number;
  readonly #beginOfDay = new Map<DateText, number>();

  /** From the beginning of the year two years before `nowMs` until 260 days after it. */
  constructor(zone: string, nowMs: number) {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    this.#firstMs = Date.UTC(new Date(nowMs).getUTCFullYear() - 2, 0, 1) - DAY_MS;
    const halfHours: HalfHour[] = [];
    for (let atMs = this.#firstMs; atMs < nowMs + 260 * DAY_MS; atMs += HALF_HOUR_MS) {
      const text = format.format(atMs);
      const halfHour = { atMs, date: text.slice(0, 10), time: text.slice(11, 16) };
      halfHours.push(halfHour);
      if (!this.#beginOfDay.has(halfHour.date)) this.#beginOfDay.set(halfHour.date, atMs);
    }
    this.#halfHours = halfHours;
  }

  dateOf(atMs: number): DateText {
    return this.#at(atMs).date;
  }

  /** Local time, as `YYYY-MM-DD HH:MM`. */
  wallOf(atMs: number): string {
    const { date, time, atMs: beganMs } = this.#at(atMs);
    const minutes = Number(time.slice(3)) + Math.floor((atMs - beganMs) / MINUTE_MS);
    return `${date} ${time.slice(0, 3)}${String(minutes).padStart(2, '0')}`;
  }

  /** Offset of local time ahead of UTC. */
  aheadMs(atMs: number): number {
    const { date, time, atMs: beganMs } = this.#at(atMs);
    return Date.parse(`${date}T${time}Z`) - beganMs;
  }

  /** When a day begins. */
  beginOf(date: DateText): number {
    const atMs = this.#beginOfDay.get(date);
    if (atMs === undefined) throw new Error(`the calendar does not hold ${date}`);
    return atMs;
  }

  /** The first time at which local time is `YYYY-MM-DD HH:MM`, which must occur. */
  firstAt(wall: string): number {
    const minutes = Number(wall.slice(14, 16));
    const time = `${wall.slice(11, 14)}${minutes < 30 ? '00' : '30'}`;
    const date = wall.slice(0, 10);
    let place = this.#placeOf(this.beginOf(date));
    while (this.#halfHours[place]?.date === date && this.#halfHours[place]?.time !== time) place += 1;
    const found = this.#halfHours[place];
    if (found?.date !== date) throw new Error(`no clock shows ${wall}`);
    return found.atMs + (minutes % 30) * MINUTE_MS;
  }

  /** The half hours that overlap [fromMs, toMs). */
  halfHoursOf(fromMs: number, toMs: number): readonly HalfHour[] {
    return this.#halfHours.slice(this.#placeOf(fromMs), this.#placeOf(toMs - 1) + 1);
  }

  /** The days of the last `days` days up to `nowMs` on which the clocks changed. */
  changes(nowMs: number, days: number): DateText[] {
    const found: DateText[] = [];
    for (const { atMs } of this.halfHoursOf(nowMs - days * DAY_MS, nowMs)) {
      if (this.aheadMs(atMs) !== this.aheadMs(atMs - HALF_HOUR_MS)) found.push(this.dateOf(atMs));
    }
    return found;
  }

  #at(atMs: number): HalfHour {
    const found = this.#halfHours[this.#placeOf(atMs)];
    if (found === undefined) throw new Error(`the calendar does not hold ${new Date(atMs).toISOString()}`);
    return found;
  }

  #placeOf(atMs: number): number {
    return Math.floor((atMs - this.#firstMs) / HALF_HOUR_MS);
  }
}

/** The date this many days later. */
export function addDays(date: DateText, days: number): DateText {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The same day this many months later, or the last day of a month that has no such day. */
export function addMonths(date: DateText, months: number): DateText {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  const first = new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10);
  const last = addDays(new Date(Date.UTC(year, month + months, 1)).toISOString().slice(0, 10), -1);
  const same = addDays(first, day - 1);
  return [same, last].sort()[0] ?? same;
}

/** Days from one date to the other. */
export function daysBetween(from: DateText, to: DateText): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** The Monday of a date's week. */
export function mondayOf(date: DateText): DateText {
  return addDays(date, -((new Date(Date.parse(date)).getUTCDay() + 6) % 7));
}
