import type { CohortAnswer, CohortInterval } from '../../../paths/retention-cohort-api.ts';
import { bucket, count, month, percent } from '../data/format.ts';

/** Cohorts, one a row, and how many of each came again. */
export function Cohorts({
  answer,
  interval,
}: {
  readonly answer: CohortAnswer;
  readonly interval: CohortInterval;
}) {
  const width = Math.max(...answer.map(({ values }) => values.length));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard.
    <section class="table-scroll" tabIndex={0} aria-label="Cohorts">
      <table class="table cohorts">
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col" class="number">
              Visitors
            </th>
            {Array.from({ length: width }, (_, index) => (
              <th scope="col" class="number" key={index}>
                <span class="unseen">{interval} </span>
                {index}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.map(({ cohort_interval: began, sum, values, percentages }) => (
            <tr key={began}>
              <th scope="row">{interval === 'month' ? month(began) : bucket(began)}</th>
              <td class="number">{count(sum)}</td>
              {Array.from({ length: width }, (_, index) => {
                const share = percentages[index];
                return (
                  <td
                    class="number cohort"
                    key={index}
                    style={{ '--share': sum === 0 ? 0 : (share ?? 0) / 100 }}
                    title={values[index] === undefined ? undefined : `${count(values[index])} visitors`}
                  >
                    {share === undefined || sum === 0 ? '' : percent(share)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
