import { useEffect, useRef } from 'preact/hooks';
import type { BreakdownAnswer } from '../../../insights/breakdown-api.ts';
import type { PagesAnswer } from '../../../insights/pages-api.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { country, money, path as written } from '../data/format.ts';
import { comparedQuestion, metricsQuestion, questionOf, type SeriesAnswer } from '../data/questions.ts';
import { wallTime } from '../data/series.ts';
import { site } from '../data/session.ts';
import { KeyFigures } from '../parts/key-figures.tsx';
import { Empty, Failure, Loading, PartialMark } from '../parts/notice.tsx';
import { OverTime } from '../parts/over-time.tsx';
import { CompareMenu } from '../parts/period-menu.tsx';
import { filterBy } from '../parts/ranked-list.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const ROWS = 10;
const LOADED = '1000';

interface EarningRow {
  readonly key: string;
  readonly label: string;
  readonly revenue: number;
  readonly filter: { readonly name: string; readonly value: string | null };
}

/** A site's revenue: over time, and by origin. */
export function Revenue() {
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const { timezone = 'UTC' } = site.value ?? {};
  const { answer, error, isLoading, retry } = useAnswer<SeriesAnswer>(metricsQuestion(look.value));
  const today = wallTime(Date.now(), timezone).slice(0, 10);
  const compared = useAnswer<SeriesAnswer>(comparedQuestion(look.value, today, answer?.interval)).answer;
  const { compare, own } = look.value;
  const before = compare === 'off' ? undefined : compare === 'year' ? compared?.metrics : answer?.previous;
  const isNothing = answer?.metrics.total_revenue === 0 && (before?.total_revenue ?? 0) === 0;
  useEffect(() => {
    // The chart draws the figure in the address; on this page, the default is revenue.
    if (own.figure === undefined) goOwn({ figure: 'total_revenue' }, { replace: true });
  }, [own.figure]);
  return (
    <>
      <ViewTools>
        <CompareMenu interval={answer?.interval} />
      </ViewTools>
      {answer?.partial && <PartialMark />}
      <section class="card hero" aria-label="Revenue of the period">
        {isLoading && <Loading rows={6} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer !== undefined && (
          <>
            <KeyFigures now={answer.metrics} before={before} />
            <OverTime answer={answer} compared={compared} canvas={canvas} />
          </>
        )}
      </section>
      {isNothing ? (
        <Empty>
          No revenue in this period. A server sends it with the event <code>revenue</code> and the property{' '}
          <code>__revenue</code>, or with an amount beside any other event.
        </Empty>
      ) : (
        <div class="cards">
          <Earnings
            title="Sources"
            question="referrer_name"
            rowsOf={byDimension('referrer_name', 'Direct')}
          />
          <Earnings title="Pages" question="pages" rowsOf={byPage} />
          <Earnings
            title="Campaigns"
            question="utm_campaign"
            rowsOf={byDimension('utm_campaign', 'Without')}
          />
          <Earnings
            title="Countries"
            question="country"
            rowsOf={byDimension('country', 'Unknown', country)}
          />
        </div>
      )}
    </>
  );
}

function Earnings<Answer>({
  title,
  question,
  rowsOf,
}: {
  readonly title: string;
  readonly question: string;
  readonly rowsOf: (answer: Answer) => readonly EarningRow[];
}) {
  const { answer, error, isLoading, retry } = useAnswer<Answer>(
    questionOf(look.value, question, { limit: LOADED }),
  );
  const { currency = 'USD' } = site.value ?? {};
  const rows = (answer === undefined ? [] : rowsOf(answer))
    .filter(({ revenue }) => revenue !== 0)
    .sort((a, b) => b.revenue - a.revenue)
    .slice(0, ROWS);
  const most = Math.max(1, ...rows.map(({ revenue }) => revenue));
  return (
    <section class="card" aria-label={title} data-earnings={question}>
      <h2>{title}</h2>
      {isLoading && <Loading rows={ROWS} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && rows.length === 0 && <Empty>Nothing earned in this period.</Empty>}
      <ol class="ranked">
        {rows.map(({ key, label, revenue, filter }) => (
          <li key={key}>
            <button
              type="button"
              class="ranked-row"
              onClick={() =>
                filterBy([
                  filter.value === null
                    ? { name: filter.name, operator: 'isNull', values: [] }
                    : { name: filter.name, operator: 'is', values: [filter.value] },
                ])
              }
            >
              <span class="ranked-bar" style={{ inlineSize: `${(Math.max(0, revenue) / most) * 100}%` }} />
              <span class="ranked-label">{label}</span>
              <span class="ranked-value">{money(revenue, currency)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function byDimension(name: string, unknown: string, labelOf = (value: string) => value) {
  return (answer: BreakdownAnswer): readonly EarningRow[] =>
    answer.map((row) => ({
      key: row.name ?? '',
      label: row.name === null ? unknown : labelOf(row.name),
      revenue: row.revenue,
      filter: { name, value: row.name },
    }));
}

function byPage(answer: PagesAnswer): readonly EarningRow[] {
  return answer.map(({ origin, path, revenue }) => ({
    key: `${origin}${path}`,
    label: written(path),
    revenue,
    filter: { name: 'path', value: path },
  }));
}
