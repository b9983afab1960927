import { count, decimal, duration, money, percent } from './format.ts';
import type { FigureName } from './questions.ts';

/** The figures of a period, in words. */
export interface FigureWords {
  readonly name: FigureName;
  readonly title: string;
  /** Says if a higher value is good, bad, or neither. */
  readonly better: 'more' | 'less' | 'neither';
  readonly format: (value: number, currency: string) => string;
  /** True if it is a count. */
  readonly isWhole?: boolean;
  /** Shown only where a goal is chosen, or where there is any. */
  readonly only?: 'goal' | 'present';
}

export const FIGURES: readonly FigureWords[] = [
  { name: 'unique_visitors', title: 'Visitors', better: 'more', format: count, isWhole: true },
  { name: 'total_sessions', title: 'Sessions', better: 'more', format: count, isWhole: true },
  { name: 'total_screen_views', title: 'Page views', better: 'more', format: count, isWhole: true },
  { name: 'views_per_session', title: 'Views per session', better: 'more', format: decimal },
  { name: 'bounce_rate', title: 'Bounce rate', better: 'less', format: percent },
  { name: 'avg_session_duration', title: 'Time per session', better: 'more', format: duration },
  { name: 'total_revenue', title: 'Revenue', better: 'more', format: money, only: 'present' },
  { name: 'conversions', title: 'Conversions', better: 'more', format: count, isWhole: true, only: 'goal' },
  { name: 'conversion_rate', title: 'Conversion rate', better: 'more', format: percent, only: 'goal' },
];

const [FIRST] = FIGURES;

/** The figure of this name, else the first one. */
export function figureNamed(name: string | undefined): FigureWords {
  const found = FIGURES.find((figure) => figure.name === name) ?? FIRST;
  if (found === undefined) throw new Error('there are no figures');
  return found;
}

/** Relative change of a figure, 0.5 for half as much again; undefined if there was nothing before. */
export function changeOf(value: number, before: number): number | undefined {
  return before === 0 ? undefined : (value - before) / before;
}
