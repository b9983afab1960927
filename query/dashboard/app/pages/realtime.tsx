import { useMemo } from 'preact/hooks';
import type { LiveAnswer } from '../../../api.ts';
import type { EventListAnswer } from '../../../insights/event-list-api.ts';
import { go, isFiltered, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { changeOf } from '../data/figures.ts';
import { count, country, NONE, percent, time, path as written } from '../data/format.ts';
import { liveVisitors } from '../data/live-number.ts';
import { questionOf, type SeriesAnswer, sameTimeQuestion, withFilter } from '../data/questions.ts';
import { type DrawnSeries, wallTime } from '../data/series.ts';
import { addressOf } from '../data/service.ts';
import { site } from '../data/session.ts';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { SeriesChart } from '../parts/series-chart.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const EVERY_MS = 5_000;
const WEEK_DAYS = 7;
const EVENTS = '25';

/** Present activity, readable across a room. */
export function Realtime() {
  const { answer, error, retry } = useAnswer<LiveAnswer>(
    addressOf(`insights/${encodeURIComponent(look.value.site)}/live`, { details: 'true' }),
    EVERY_MS,
  );
  const visitors = liveVisitors.value ?? answer?.visitors;
  const drawn = useMemo(() => drawnMinutes(answer), [answer]);
  return (
    <>
      <ViewTools period={null}>
        {isFiltered(look.value) && (
          <span class="quiet">
            Filters hold for today and for the events; the numbers of now count everybody.
          </span>
        )}
      </ViewTools>
      <div class="realtime">
        <section class="card wall" aria-label="Visitors now">
          <p class="wall-number" data-wall={visitors ?? ''}>
            {visitors === undefined ? NONE : count(visitors)}
          </p>
          <p class="quiet">{visitors === 1 ? 'visitor' : 'visitors'} in the last five minutes</p>
          <Today />
        </section>
        <section class="card" aria-labelledby="minutes-title">
          <header class="card-head">
            <h2 id="minutes-title">Visitors by minute, last 30 minutes</h2>
          </header>
          {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
          {drawn !== undefined && (
            <SeriesChart title="Visitors by minute" drawn={drawn} format={count} isWhole isBars />
          )}
        </section>
        <NowList
          title="Pages now"
          field="path"
          rows={answer?.pages?.map(({ path, visitors: here }) => ({
            name: path,
            label: written(path),
            visitors: here,
          }))}
        />
        <NowList
          title="Sources now"
          field="referrer_name"
          rows={answer?.referrers?.map(({ referrer, visitors: here }) => ({
            name: referrer,
            label: referrer ?? 'Direct / none',
            visitors: here,
          }))}
        />
        <NowList
          title="Countries now"
          field="country"
          rows={answer?.countries?.map(({ country: code, visitors: here }) => ({
            name: code,
            label: code === null ? 'Unknown' : country(code),
            visitors: here,
          }))}
        />
        <EventStream />
      </div>
    </>
  );
}

/** Today so far, beside the same day of last week up to this time. */
function Today() {
  const { timezone = 'UTC' } = site.value ?? {};
  const now = wallTime(Date.now(), timezone);
  const today = useAnswer<SeriesAnswer>(
    questionOf({ ...look.value, period: { range: 'today' } }, 'metrics', { interval: 'hour' }),
  ).answer;
  const isBegun = !now.slice(11).startsWith('00:00');
  const before = useAnswer<SeriesAnswer>(
    isBegun ? sameTimeQuestion(look.value, now, WEEK_DAYS) : undefined,
  ).answer;
  if (today === undefined) return null;
  const visitors = today.metrics.unique_visitors;
  const earlier = before?.metrics.unique_visitors;
  const change = earlier === undefined ? undefined : changeOf(visitors, earlier);
  return (
    <p data-today={visitors}>
      <strong>{count(visitors)}</strong> today
      {earlier !== undefined && (
        <span class="quiet">
          {' '}
          · {count(earlier)} a week ago by now
          {change !== undefined && `, ${change < 0 ? '−' : '+'}${percent(Math.abs(change) * 100)}`}
        </span>
      )}
    </p>
  );
}

/** A list of rows with visitors now. A click shows today, filtered by the row. */
function NowList({
  title,
  field,
  rows,
}: {
  readonly title: string;
  readonly field: string;
  readonly rows:
    | readonly { readonly name: string | null; readonly label: string; readonly visitors: number }[]
    | undefined;
}) {
  const most = Math.max(1, ...(rows ?? []).map(({ visitors }) => visitors));
  const show = (name: string | null) =>
    go({
      view: 'overview',
      period: { range: 'today' },
      own: {},
      filters: withFilter(
        look.value.filters,
        name === null
          ? { name: field, operator: 'isNull', values: [] }
          : { name: field, operator: 'is', values: [name] },
      ),
    });
  return (
    <section class="card" aria-label={title} data-now={field}>
      <header class="card-head">
        <h2>{title}</h2>
      </header>
      {rows === undefined && <Loading rows={5} />}
      {rows?.length === 0 && <Empty>No visitor is here now.</Empty>}
      <ol class="ranked">
        {rows?.map(({ name, label, visitors }) => (
          <li key={name ?? ''}>
            <button type="button" class="ranked-row" title={label} onClick={() => show(name)}>
              <span class="ranked-bar" style={{ inlineSize: `${(visitors / most) * 100}%` }} />
              <span class={name === null ? 'ranked-label quiet' : 'ranked-label'}>{label}</span>
              <span class="ranked-value">
                {count(visitors)}
                <span class="unseen"> now</span>
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The newest events of the last 30 minutes. */
function EventStream() {
  const { answer, error, retry } = useAnswer<EventListAnswer>(
    questionOf({ ...look.value, period: { range: '30min' } }, 'events', { limit: EVENTS }),
    EVERY_MS,
  );
  const { timezone = 'UTC' } = site.value ?? {};
  return (
    <section class="card wide" aria-labelledby="stream-title">
      <header class="card-head">
        <h2 id="stream-title">Events as they arrive</h2>
      </header>
      {answer === undefined && error === undefined && <Loading rows={6} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer?.length === 0 && <Empty>No event in the last 30 minutes.</Empty>}
      <ol class="stream">
        {answer?.map(({ id, name, path, createdAt, country: code, browser, os, referrerName }) => (
          <li key={id}>
            <time dateTime={createdAt}>{time(createdAt, timezone, 'time')}</time>
            <span class={name === 'screen_view' ? 'stream-name quiet' : 'stream-name'}>
              {name === 'screen_view' ? 'view' : name}
            </span>
            <span class="stream-path" title={path}>
              {written(path)}
            </span>
            <span class="stream-who quiet">
              {[code && country(code), browser, os, referrerName].filter((text) => text).join(' · ')}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function drawnMinutes(answer: LiveAnswer | undefined): DrawnSeries | undefined {
  const minutes = answer?.minutes;
  if (minutes === undefined) return undefined;
  return {
    labels: minutes.map(({ date }) => date),
    values: minutes.map(({ visitors }) => visitors),
    compared: minutes.map(() => null),
    comparedLabels: minutes.map(() => undefined),
    openAt: minutes.length - 1,
    marks: [],
  };
}
