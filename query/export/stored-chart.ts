import type { z } from 'zod';
import { readBy } from '../http/read-by.ts';
import { RejectError } from '../reject.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import type { breakdownList, seriesList } from './chart-fields.ts';
import { planChart } from './charts.ts';
import { type ChartsQuery, chartsQuery } from './charts-api.ts';

/** A chart in a report. */
export interface StoredChart
  extends Pick<ChartsQuery, 'range' | 'startDate' | 'endDate' | 'interval' | 'formula'> {
  readonly series: z.output<typeof seriesList>;
  readonly breakdowns: z.output<typeof breakdownList>;
}

/**
 * The parameters of `GET /export/charts` for a stored chart. Throws a `RejectError` that names the field if the endpoint
 * rejects them.
 */
export function chartOf({ series, breakdowns, ...given }: StoredChart, scope: QuestionScope): ChartsQuery {
  const { range, startDate, endDate, interval, formula } = given;
  const lists = { series: JSON.stringify(series), breakdowns: JSON.stringify(breakdowns) };
  const query = readBy(chartsQuery, { ...lists, range, startDate, endDate, interval, formula }, 'body');
  const { limitMax } = planChart(query, scope);
  // A report has no limit, so the default one applies.
  if (query.limit > limitMax)
    throw new RejectError(
      'invalid',
      'interval: the chart has too many figures; choose a longer interval, a shorter range or fewer series',
    );
  return query;
}
