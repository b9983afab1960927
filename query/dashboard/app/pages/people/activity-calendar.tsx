import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { bucket, count, month } from '../../data/format.ts';
import { filtersText, type SeriesAnswer } from '../../data/questions.ts';
import { addressOf } from '../../data/service.ts';
import { Loading } from '../../parts/notice.tsx';

const DAYS_OF_WEEK = 7;
const SHADES = 4;

/** The sessions that a person began on each day of half a year, a column for each week from Monday on. */
export function ActivityCalendar({ profileId }: { readonly profileId: string }) {
  const { answer, isLoading } = useAnswer<SeriesAnswer>(
    addressOf(`insights/${encodeURIComponent(look.value.site)}/metrics`, {
      range: '6m',
      interval: 'day',
      filters: filtersText([{ name: 'profile_id', operator: 'is', values: [profileId] }]),
    }),
  );
  const days = (answer?.series ?? []).map(({ date, total_sessions: sessions }) => ({ date, sessions }));
  const most = Math.max(1, ...days.map(({ sessions }) => sessions));
  const [first] = days;
  const active = days.filter(({ sessions }) => sessions > 0);
  return (
    <section class="card" aria-labelledby="calendar-title">
      <h2 id="calendar-title">Sessions by day</h2>
      {isLoading && <Loading rows={3} />}
      {first !== undefined && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard. */}
          <section class="table-scroll" tabIndex={0} aria-label="Sessions by day">
            <div
              class="calendar"
              role="img"
              aria-label={`${count(active.length)} days with sessions since ${month(first.date)}`}
            >
              {days.map(({ date, sessions }, index) => (
                <span
                  key={date}
                  class="calendar-day"
                  data-sessions={sessions}
                  title={`${bucket(date, 'long')}: ${count(sessions)}`}
                  style={{
                    '--shade': Math.ceil((SHADES * sessions) / most) / SHADES,
                    ...(index === 0 && { gridRowStart: weekday(date) + 1 }),
                  }}
                />
              ))}
            </div>
          </section>
          <p class="quiet">Lighter days have fewer, the darkest {count(most)}.</p>
        </>
      )}
    </section>
  );
}

/** Days since Monday. */
function weekday(date: string): number {
  return (new Date(`${date.slice(0, 10)}T00:00:00Z`).getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK;
}
