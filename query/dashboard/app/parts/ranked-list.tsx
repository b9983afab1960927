import type { CardRow } from '../cards/card-plan.ts';
import { go, look } from '../data/address.ts';
import { count, percent, share } from '../data/format.ts';
import { withFilter } from '../data/questions.ts';

/** Rows with a bar each, the longest for the greatest value. A click on a row filters by it. */
export function RankedList({
  rows,
  total,
  unit,
}: {
  readonly rows: readonly CardRow[];
  /** The total that shares refer to; undefined while it is not known. */
  readonly total: number | undefined;
  readonly unit: string;
}) {
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return (
    <ol class="ranked">
      {rows.map(({ key, label, hint, isUnknown, filters, value, figures }) => (
        <li key={key}>
          <button
            type="button"
            class="ranked-row"
            title={hint === undefined ? label : `${label} · ${hint}`}
            onClick={() => filterBy(filters)}
          >
            <span class="ranked-bar" style={{ inlineSize: `${(value / most) * 100}%` }} />
            <span class={isUnknown ? 'ranked-label quiet' : 'ranked-label'}>
              {label}
              {hint !== undefined && <span class="ranked-hint">{hint}</span>}
            </span>
            <span class="ranked-share">{shareOf(value, total, figures)}</span>
            <span class="ranked-value">
              {count(value)}
              <span class="unseen"> {unit}</span>
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

/** With a goal the share of sessions that reach it, else the share of all sessions. */
function shareOf(value: number, total: number | undefined, figures: CardRow['figures']): string {
  if (figures?.conversion_rate !== undefined) return percent(figures.conversion_rate);
  return total === undefined ? '' : share(value, total);
}

/** Adds a row's filters to the current ones. */
export function filterBy(filters: CardRow['filters']): void {
  go({ filters: filters.reduce(withFilter, look.peek().filters) });
}
