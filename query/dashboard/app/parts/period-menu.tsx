import { useSignal } from '@preact/signals';
import { type Compare, go, look } from '../data/address.ts';
import { days } from '../data/format.ts';
import { PERIODS, periodTitle } from '../data/periods.ts';
import { site } from '../data/session.ts';
import { daysOf, neighbourOf, todayIn } from '../data/spans.ts';
import { Menu } from './menu.tsx';

const COMPARES: readonly (readonly [Compare, string])[] = [
  ['previous', 'Previous period'],
  ['year', 'Same days last year'],
  ['off', 'Nothing'],
];
const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const;

/** Chooses the period: named ones, dates, and the neighbours of the present one. */
export function PeriodMenu() {
  const { period } = look.value;
  const today = todayIn(site.value?.timezone ?? 'UTC', Date.now());
  const span = daysOf(period, today);
  const title = periodTitle(period) ?? (span === undefined ? '' : days(span));
  const [before, after] = [neighbourOf(period, -1, today), neighbourOf(period, 1, today)];
  return (
    <div class="joined">
      <button
        type="button"
        class="button"
        aria-label="Previous period"
        disabled={before === undefined}
        onClick={() => before && go({ period: before, interval: undefined })}
      >
        ‹
      </button>
      <Menu label={title} title={`Period: ${title}`}>
        {(close) => (
          <>
            <ul class="choices">
              {PERIODS.map(({ range, title: name, key }) => (
                <li key={range}>
                  <button
                    type="button"
                    aria-current={range === period.range ? 'true' : undefined}
                    onClick={() => {
                      go({ period: { range }, interval: undefined });
                      close();
                    }}
                  >
                    {name}
                    <kbd>{key}</kbd>
                  </button>
                </li>
              ))}
            </ul>
            <OwnDates from={span?.from ?? today} to={span?.to ?? today} today={today} close={close} />
          </>
        )}
      </Menu>
      <button
        type="button"
        class="button"
        aria-label="Next period"
        disabled={after === undefined}
        onClick={() => after && go({ period: after, interval: undefined })}
      >
        ›
      </button>
    </div>
  );
}

function OwnDates({
  from,
  to,
  today,
  close,
}: {
  readonly from: string;
  readonly to: string;
  readonly today: string;
  readonly close: () => void;
}) {
  const chosen = useSignal({ from, to });
  const isValid = chosen.value.from !== '' && chosen.value.from <= chosen.value.to;
  return (
    <form
      class="own-dates"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isValid) return;
        go({
          period: { range: 'custom', startDate: chosen.value.from, endDate: chosen.value.to },
          interval: undefined,
        });
        close();
      }}
    >
      {(['from', 'to'] as const).map((end) => (
        <label key={end}>
          {end === 'from' ? 'First day' : 'Last day'}
          <input
            type="date"
            required
            max={today}
            value={chosen.value[end]}
            onInput={(event) => {
              chosen.value = { ...chosen.value, [end]: event.currentTarget.value };
            }}
          />
        </label>
      ))}
      <button type="submit" class="button" disabled={!isValid}>
        Show these days
      </button>
    </form>
  );
}

/** Chooses the comparison of figures, and the width of buckets. */
export function CompareMenu({ interval }: { readonly interval: string | undefined }) {
  const { compare, interval: chosen } = look.value;
  const label = compare === 'off' ? 'Not compared' : compare === 'year' ? 'vs last year' : 'vs previous';
  return (
    <Menu label={label} title={`Comparison and interval: ${label}`}>
      {() => (
        <>
          <p class="panel-title">Compare with</p>
          <ul class="choices">
            {COMPARES.map(([name, title]) => (
              <li key={name}>
                <button
                  type="button"
                  aria-current={name === compare ? 'true' : undefined}
                  onClick={() => go({ compare: name })}
                >
                  {title}
                </button>
              </li>
            ))}
          </ul>
          <p class="panel-title">Points of the chart</p>
          <ul class="choices">
            {[undefined, ...INTERVALS].map((name) => (
              <li key={name ?? ''}>
                <button
                  type="button"
                  aria-current={name === chosen ? 'true' : undefined}
                  onClick={() => go({ interval: name })}
                >
                  {name === undefined
                    ? `Automatic${interval === undefined ? '' : ` (${interval})`}`
                    : `By ${name}`}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Menu>
  );
}
