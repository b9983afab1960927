import { useSignal } from '@preact/signals';
import type { FigureWords } from '../data/figures.ts';
import { bucket } from '../data/format.ts';
import type { SeriesAnswer } from '../data/questions.ts';
import { Modal } from './modal.tsx';

/** The chart as a table, for those who read rather than look. */
export function SeriesTable({
  answer,
  figure: { name, title, format },
  currency,
}: {
  readonly answer: SeriesAnswer;
  readonly figure: FigureWords;
  readonly currency: string;
}) {
  const isOpen = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="plain"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        Show as table
      </button>
      {isOpen.value && (
        <Modal
          title={`${title} over time`}
          size="small"
          onClose={() => {
            isOpen.value = false;
          }}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard. */}
          <section class="table-scroll" tabIndex={0} aria-label={`${title} over time`}>
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Begin</th>
                  <th scope="col" class="number">
                    {title}
                  </th>
                </tr>
              </thead>
              <tbody>
                {answer.series.map((row) => (
                  <tr key={row.date}>
                    <th scope="row">{bucket(row.date, 'long')}</th>
                    <td class="number">{format(row[name] ?? 0, currency)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </Modal>
      )}
    </>
  );
}
