import { QUESTIONS } from './query-questions.ts';
import { rounded, type Table } from './results.ts';

/** At p95, in milliseconds, by range and kind of question. */
const P95_MS = {
  '30d': { fast: 100, other: 200, filtered: 700 },
  '12m': { fast: 600, other: 600, filtered: 4_000 },
} as const;
/** Questions that are asked most. */
const FAST = ['metrics', 'pages', 'pages/entry_exit'];
/** Lists, of any range. */
const LISTS = ['events', 'events/names', 'sessions', 'export/events'];
const LIST_P95_MS = 100;
/** Maximum time relative to one warm question: for a cold one, and for eight together. */
const TIMES_AS_LONG = 3;
/** For a day: the minimum of the raw scan's time divided by the question's. */
const RAW_RATIO = 0.5;
const BYTES = 56;
const LIVE_RATIO = 0.6;

/** One goal, and whether it is reached. */
export interface Goal {
  readonly isReached: boolean;
  readonly words: string;
}

/** The goals of the questions about a large site: the worst of each kind, and everything that is missed. */
export function queryGoals(
  tables: Readonly<Record<string, Table>>,
  {
    perEvent = Number.POSITIVE_INFINITY,
    liveRatio,
  }: { readonly perEvent?: number | undefined; readonly liveRatio: number },
): readonly Goal[] {
  const most = (words: string, value: number, goal: number): Goal => ({
    isReached: value <= goal,
    words: `${words} ${rounded(value)}, goal ${goal}`,
  });
  const least = (words: string, value: number, goal: number): Goal => ({
    isReached: value >= goal,
    words: `${words} ${rounded(value)}, goal ${goal}`,
  });
  const figures = (title: string, name: string, figure: string) => tables[title]?.[name]?.[figure];
  const names = Object.keys(QUESTIONS);
  const p95s = (['30d', '12m'] as const).flatMap((title) =>
    names.flatMap((name) => {
      const p95Ms = figures(title, name, 'p95Ms');
      return p95Ms === undefined ? [] : most(`${title} ${name}: p95 ms`, p95Ms, p95Goal(title, name));
    }),
  );
  const ratios = (['coldMs', 'eightMs'] as const).flatMap((figure) =>
    names.flatMap((name) => {
      const [value, p50Ms] = [figures('30d', name, figure), figures('30d', name, 'p50Ms')];
      if (value === undefined || p50Ms === undefined) return [];
      const words = figure === 'coldMs' ? 'cold' : 'eight at once';
      return most(`30d ${name}: ${words}, times as long as one`, value / p50Ms, TIMES_AS_LONG);
    }),
  );
  const days = ['metrics', 'pages'].flatMap((name) => {
    const ratio = figures('24h', name, 'raw/p50');
    return ratio === undefined ? [] : least(`24h ${name}: times as fast as the raw scan`, ratio, RAW_RATIO);
  });
  return [
    ...p95s,
    ...ratios,
    ...days,
    most('bytes an event', perEvent, BYTES),
    least('live, of the rate of the bare GET', liveRatio, LIVE_RATIO),
  ];
}

function p95Goal(title: keyof typeof P95_MS, name: string): number {
  if (LISTS.includes(name)) return LIST_P95_MS;
  const { fast, other, filtered } = P95_MS[title];
  if (QUESTIONS[name]?.filters !== undefined) return filtered;
  return FAST.includes(name) ? fast : other;
}
