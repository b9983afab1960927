import type { CohortAnswer, CohortInterval } from '../../../paths/retention-cohort-api.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { filtersText } from '../data/questions.ts';
import { addressOf } from '../data/service.ts';
import { Cohorts } from '../parts/cohort-table.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const INTERVALS: readonly { readonly id: CohortInterval; readonly title: string }[] = [
  { id: 'day', title: 'By day' },
  { id: 'week', title: 'By week' },
  { id: 'month', title: 'By month' },
];

/** Visitors who began in a day, week or month, and how many of them came again in the following ones. */
export function Retention() {
  const interval = INTERVALS.find(({ id }) => id === look.value.own.cohorts)?.id ?? 'week';
  const { site, filters, segment } = look.value;
  const { answer, error, isLoading, retry } = useAnswer<CohortAnswer>(
    addressOf(`insights/${encodeURIComponent(site)}/retention/cohort`, {
      interval,
      filters: filtersText(filters),
      segment,
    }),
  );
  const isEmpty = answer?.every(({ sum }) => sum === 0);
  return (
    <>
      <ViewTools period={null} />
      <section class="card" aria-labelledby="cohorts-title">
        <header class="card-head">
          <h2 id="cohorts-title">Visitors who come again</h2>
          <Tabs
            label="Width of a cohort"
            tabs={INTERVALS}
            chosen={interval}
            panelId="cohorts"
            onChoose={(id) => goOwn({ cohorts: id === 'week' ? undefined : id }, { replace: true })}
          />
        </header>
        <div id="cohorts" role="tabpanel" aria-label={`By ${interval}`}>
          {isLoading && <Loading rows={8} />}
          {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
          {isEmpty && <Empty>No visitor began in this time.</Empty>}
          {answer !== undefined && isEmpty === false && <Cohorts answer={answer} interval={interval} />}
        </div>
      </section>
    </>
  );
}
