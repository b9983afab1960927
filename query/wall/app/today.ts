import type { LiveNumberAnswer } from '../../live/live-api.ts';
import { part } from './part.ts';

const percent = new Intl.NumberFormat(navigator.language, { style: 'percent', maximumFractionDigits: 0 });
const weekday = new Intl.DateTimeFormat(navigator.language, { weekday: 'long', timeZone: 'UTC' });

/** Shows today beside the same day a week ago up to the same time of the site's clocks. */
export function showToday(
  { until, visitors, visitors_week_before: before }: NonNullable<LiveNumberAnswer['today']>,
  format: (value: number) => string,
): void {
  part('today').textContent = format(visitors);
  part('change').replaceChildren(...comparison(visitors, before, until, format));
}

function comparison(
  visitors: number,
  before: number | undefined,
  until: string,
  format: (value: number) => string,
): readonly (Node | string)[] {
  if (before === undefined) return ['The day begins.'];
  const then = `last ${weekday.format(Date.parse(`${until.slice(0, 10)}T00:00:00Z`))} by ${until.slice(11, 16)}`;
  if (before === 0) return [`none ${then}`];
  const ratio = (visitors - before) / before;
  const mark = document.createElement('span');
  mark.className = ratio < 0 ? 'down' : 'up';
  mark.textContent = `${ratio < 0 ? '−' : '+'}${percent.format(Math.abs(ratio))}`;
  return [mark, ` · ${format(before)} ${then}`];
}
