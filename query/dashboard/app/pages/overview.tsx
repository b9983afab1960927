import { useRef } from 'preact/hooks';
import { CARDS } from '../cards/cards.ts';
import { hashOf, isFiltered, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { figureNamed } from '../data/figures.ts';
import { days, time } from '../data/format.ts';
import { comparedQuestion, metricsQuestion, type SeriesAnswer, sameTimeQuestion } from '../data/questions.ts';
import { wallTime } from '../data/series.ts';
import { isShared, site } from '../data/session.ts';
import { comparedDays } from '../data/spans.ts';
import { Card } from '../parts/card.tsx';
import { ExportMenu } from '../parts/export-menu.tsx';
import { GoalMenu } from '../parts/goal-menu.tsx';
import { KeyFigures } from '../parts/key-figures.tsx';
import { Failure, Loading, PartialMark } from '../parts/notice.tsx';
import { OverTime } from '../parts/over-time.tsx';
import { CompareMenu, PeriodMenu } from '../parts/period-menu.tsx';
import { SeriesTable } from '../parts/series-table.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

/** A site in a period: figures, their course, and their origins. */
export function Overview() {
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const { timezone = 'UTC', currency = 'USD' } = site.value ?? {};
  const now = wallTime(Date.now(), timezone);
  const { answer, error, retry, before, comparedWith, compared } = useFigures(now);
  const figure = figureNamed(look.value.own.figure);
  const isUntouched =
    answer !== undefined && answer.metrics.total_screen_views === 0 && !isFiltered(look.value);
  return (
    <>
      <ViewTools
        period={
          <>
            <PeriodMenu />
            <CompareMenu interval={answer?.interval} />
          </>
        }
      >
        <GoalMenu />
        <span class="spread" />
        <ExportMenu answer={answer} figure={figure} canvas={canvas} />
      </ViewTools>
      {answer?.partial && <PartialMark />}
      <section class="card hero" aria-label="Figures of the period">
        {answer === undefined && error === undefined && <Loading rows={6} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer !== undefined && (
          <>
            <KeyFigures now={answer.metrics} before={before} />
            <OverTime answer={answer} compared={compared} canvas={canvas} />
            <footer class="hero-foot quiet">
              <span>
                Times in {timezone}
                {comparedWith !== undefined && ` · compared with ${comparedWith}`}
              </span>
              {answer.references.length > 0 && (
                <details>
                  <summary>
                    {answer.references.length} {answer.references.length === 1 ? 'reference' : 'references'}
                  </summary>
                  <ul class="references">
                    {answer.references.map(({ id, title, description, date }) => (
                      <li key={id}>
                        <span>{time(date, timezone)}</span> <strong>{title}</strong> {description}
                      </li>
                    ))}
                  </ul>
                </details>
              )}
              <SeriesTable answer={answer} figure={figure} currency={currency} />
            </footer>
          </>
        )}
      </section>
      {isUntouched && !isShared.value && (
        <p class="hint">
          No page views in this period. Is the script in your pages?{' '}
          <a href={hashOf({ ...look.value, view: 'installation', own: {} })}>Install it</a>, or choose a
          longer period.
        </p>
      )}
      <div class="cards">
        {CARDS.map((plan) => (
          <Card
            key={plan.id}
            plan={plan}
            sessions={answer?.partial ? undefined : answer?.metrics.total_sessions}
          />
        ))}
      </div>
    </>
  );
}

/**
 * The figures of the period, and of the period compared with. While the store is unavailable, only the figures that can be
 * reached.
 */
function useFigures(now: string) {
  const { compare, period } = look.value;
  const today = now.slice(0, 10);
  const whole = useAnswer<SeriesAnswer>(metricsQuestion(look.value));
  const isAway = whole.error?.status === 503;
  const reached = useAnswer<SeriesAnswer>(isAway ? metricsQuestion(look.value, true) : undefined);
  const shown = isAway && reached.answer !== undefined ? reached : whole;
  const { answer } = shown;
  const compared = useAnswer<SeriesAnswer>(comparedQuestion(look.value, today, answer?.interval)).answer;
  // A day that is not over is compared with as much of the day before. There is none in its first minute.
  const isSameTime = compare === 'previous' && period.range === 'today' && !now.slice(11).startsWith('00:00');
  const sameTime = useAnswer<SeriesAnswer>(
    isSameTime ? sameTimeQuestion(look.value, now, 1) : undefined,
  ).answer;
  const other = compare === 'year' ? compared?.metrics : isSameTime ? sameTime?.metrics : answer?.previous;
  const spanned = comparedDays(period, compare, today);
  return {
    ...shown,
    compared,
    before: compare === 'off' || answer?.partial ? undefined : other,
    comparedWith: spanned && `${days(spanned)}${isSameTime ? `, until ${now.slice(11, 16)}` : ''}`,
  };
}
