import type { FigureName, SeriesAnswer } from './questions.ts';

/** A figure over time as it is drawn. All lists are as long as `labels`. */
export interface DrawnSeries {
  readonly labels: readonly string[];
  /** Null for buckets that have not begun. */
  readonly values: readonly (number | null)[];
  /** The same buckets of the period's comparison; null where it has none. */
  readonly compared: readonly (number | null)[];
  readonly comparedLabels: readonly (string | undefined)[];
  /** The bucket that is not over; undefined when all are. */
  readonly openAt: number | undefined;
  readonly marks: readonly ChartMark[];
}

/** A reference, at the bucket that holds its date. */
export interface ChartMark {
  readonly at: number;
  readonly title: string;
  readonly description: string;
  readonly date: string;
}

/** Prepares a figure for drawing. `now` is the site's local time, as returned by `wallTime`. */
export function drawnSeries(
  answer: SeriesAnswer,
  compared: SeriesAnswer | undefined,
  { figure, now, wallOf }: { figure: FigureName; now: string; wallOf: (iso: string) => string },
): DrawnSeries {
  const { series } = answer;
  const labels = series.map(({ date }) => date);
  const begun = labels.filter((label) => label.slice(0, 19) <= now.slice(0, label.length));
  const other = compared?.series ?? [];
  const last = begun.length - 1;
  const isOpen = begun.length < labels.length || covers(labels[last], now, answer.interval);
  return {
    labels,
    values: series.map((bucket, index) => (index <= last ? (bucket[figure] ?? 0) : null)),
    compared: labels.map((_label, index) => other[index]?.[figure] ?? null),
    comparedLabels: labels.map((_label, index) => other[index]?.date),
    openAt: isOpen && last >= 0 ? last : undefined,
    marks: answer.references.flatMap(({ title, description, date }) => {
      const wall = wallOf(date);
      const at = labels.findLastIndex((label) => label.slice(0, 19) <= wall.slice(0, label.length));
      return at < 0 ? [] : [{ at, title, description, date }];
    }),
  };
}

/** The local time of a time zone, as `YYYY-MM-DD HH:MM:SS`. */
export function wallTime(ms: number, timezone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(ms);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${part('second')}`;
}

function covers(label: string | undefined, now: string, interval: SeriesAnswer['interval']): boolean {
  if (label === undefined) return false;
  switch (interval) {
    case 'minute':
      return label.slice(0, 16) === now.slice(0, 16);
    case 'hour':
      return label.slice(0, 13) === now.slice(0, 13);
    case 'day':
      return label.slice(0, 10) === now.slice(0, 10);
    case 'week':
      return Date.parse(now.slice(0, 10)) - Date.parse(label.slice(0, 10)) < 7 * 86_400_000;
    case 'month':
      return label.slice(0, 7) === now.slice(0, 7);
  }
}
