import type { Period } from './address.ts';

/** A period that has a name and a key. */
export interface NamedPeriod {
  readonly range: Exclude<Period['range'], 'custom'>;
  readonly title: string;
  readonly key: string;
}

export const PERIODS: readonly NamedPeriod[] = [
  { range: 'lastHour', title: 'Last hour', key: 'H' },
  { range: 'last24h', title: 'Last 24 hours', key: 'V' },
  { range: 'today', title: 'Today', key: 'D' },
  { range: 'yesterday', title: 'Yesterday', key: 'Y' },
  { range: '7d', title: 'Last 7 days', key: 'W' },
  { range: '30d', title: 'Last 30 days', key: 'T' },
  { range: 'monthToDate', title: 'This month', key: 'M' },
  { range: 'lastMonth', title: 'Last month', key: 'P' },
  { range: '3m', title: 'Last 3 months', key: 'Q' },
  { range: '6m', title: 'Last 6 months', key: 'S' },
  { range: 'yearToDate', title: 'This year', key: 'N' },
  { range: '12m', title: 'Last 12 months', key: 'A' },
  { range: 'lastYear', title: 'Last year', key: 'L' },
];

/** Name of a period; undefined for dates. */
export function periodTitle({ range }: Period): string | undefined {
  return (
    PERIODS.find((period) => period.range === range)?.title ??
    (range === '30min' ? 'Last 30 minutes' : undefined)
  );
}
