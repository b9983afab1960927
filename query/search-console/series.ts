import type { QuestionScope } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { boundDays, type DayRange, type Days, dayRange } from './days.ts';
import { addSums, figuresOf, type SearchSources, type SumsRow } from './rows.ts';
import type { OverviewAnswer, OverviewQuery } from './search-console-api.ts';

/** Selects rows. Empty texts mean all pages and queries. */
export interface Subject {
  readonly page: string;
  readonly query: string;
}

export const EVERYTHING: Subject = { page: '', query: '' };

type DayRow = AnswerRow<'search-console-series'>;

/** Totals of the requested days and of those before, and a series. */
export async function answerSeries(
  { history }: SearchSources,
  { site, nowMs }: QuestionScope,
  query: OverviewQuery,
  subject: Subject = EVERYTHING,
): Promise<OverviewAnswer> {
  const range = dayRange(query, nowMs);
  const current = boundDays(range.days);
  const before = boundDays(range.previous);
  const parameters = {
    ...subject,
    site: site.storedId,
    ...current,
    previousFrom: before.from,
    previousTo: before.to,
  };
  const rows = await history.ask({ name: 'search-console-series', parameters }, NO_SEAM);
  return seriesOf(range, rows);
}

/** The answer from the sums of each day. */
export function seriesOf(range: DayRange, rows: readonly DayRow[]): OverviewAnswer {
  const { days, previous, buckets, interval } = range;
  const within = ({ from, to }: Days) => rows.filter(({ day }) => day >= from && day <= to);
  const current = within(days);
  const byBucket = buckets.map((): SumsRow[] => []);
  for (const row of current) byBucket[buckets.findLastIndex(({ from }) => from <= row.day)]?.push(row);
  return {
    metrics: figuresOf(addSums(current)),
    previous: figuresOf(addSums(within(previous))),
    series: buckets.map(({ label }, index) => ({
      date: label,
      ...figuresOf(addSums(byBucket[index] ?? [])),
    })),
    interval,
  };
}
