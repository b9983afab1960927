import { useSignal } from '@preact/signals';
import type { CardRow, CardTab } from '../cards/card-plan.ts';
import { type ChosenFilter, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { commaText } from '../data/comma-text.ts';
import { download } from '../data/download.ts';
import { count, duration, money, percent } from '../data/format.ts';
import { questionOf, withFilter } from '../data/questions.ts';
import { site } from '../data/session.ts';
import { Modal } from './modal.tsx';
import { Empty, Failure, Loading } from './notice.tsx';
import { filterBy } from './ranked-list.tsx';

/** Maximum number of rows in one answer. A search finds the rows that are not loaded. */
const LOADED_MAX = 1_000;
const PAGE_ROWS = 50;

interface Column {
  readonly id: string;
  readonly title: string;
  readonly numberOf: (row: CardRow) => number;
  readonly format: (value: number, currency: string) => string;
}

const COLUMNS: readonly Column[] = [
  { id: 'sessions', title: 'Sessions', numberOf: ({ value }) => value, format: count },
  { id: 'visitors', title: 'Visitors', numberOf: ({ figures }) => figures?.visitors ?? 0, format: count },
  { id: 'pageviews', title: 'Views', numberOf: ({ figures }) => figures?.pageviews ?? 0, format: count },
  {
    id: 'bounce',
    title: 'Bounce rate',
    numberOf: ({ figures }) => figures?.bounce_rate ?? 0,
    format: percent,
  },
  { id: 'duration', title: 'Time', numberOf: ({ figures }) => figures?.avg_duration ?? 0, format: duration },
  { id: 'revenue', title: 'Revenue', numberOf: ({ figures }) => figures?.revenue ?? 0, format: money },
];
const EVENT_COLUMNS: readonly Column[] = [
  { id: 'events', title: 'Events', numberOf: ({ value }) => value, format: count },
];

/** All rows of a tab in a dialog: searched, sorted, in pages, and as a file. */
export function FullList({ tab, onClose }: { readonly tab: CardTab; readonly onClose: () => void }) {
  const words = useSignal('');
  const sorted = useSignal({ id: '', isAscending: false });
  const page = useSignal(0);
  const { searched } = tab;
  const search = words.value.trim();
  const found: ChosenFilter | undefined =
    search !== '' && searched !== undefined
      ? { name: searched, operator: 'contains', values: [search] }
      : undefined;
  const asked =
    found === undefined ? look.value : { ...look.value, filters: withFilter(look.value.filters, found) };
  const { answer, error, isLoading, retry } = useAnswer<readonly unknown[]>(
    questionOf(asked, tab.path, { ...tab.asked, limit: String(LOADED_MAX) }),
  );
  const all = (answer === undefined ? [] : tab.rowsOf(answer)).filter(
    ({ label }) => searched !== undefined || label.toLowerCase().includes(search.toLowerCase()),
  );
  const hasRevenue = all.some(({ figures }) => figures !== undefined && figures.revenue !== 0);
  const columns =
    tab.unit === 'events' ? EVENT_COLUMNS : COLUMNS.filter(({ id }) => id !== 'revenue' || hasRevenue);
  const column = columns.find(({ id }) => id === sorted.value.id);
  const direction = sorted.value.isAscending ? 1 : -1;
  const rows =
    column === undefined
      ? all
      : all.toSorted((a, b) => direction * (column.numberOf(a) - column.numberOf(b)));
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const at = Math.min(page.value, pages - 1);
  const currency = site.value?.currency ?? 'USD';
  const sortBy = (id: string) => {
    const isSame = (sorted.value.id || columns[0]?.id) === id;
    sorted.value = { id, isAscending: isSame && !sorted.value.isAscending };
    page.value = 0;
  };
  const save = () => {
    const lines = rows.map((row) => [
      row.label,
      row.hint ?? '',
      ...columns.map(({ numberOf }) => numberOf(row)),
    ]);
    const text = commaText([[tab.title, '', ...columns.map(({ title }) => title)], ...lines]);
    download(`${look.value.site}-${tab.id}.csv`, new Blob([text], { type: 'text/csv' }));
  };
  return (
    <Modal title={tab.title} onClose={onClose} size="large">
      <div class="list-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label={`Search ${tab.title.toLowerCase()}`}
          value={words.value}
          onInput={(event) => {
            words.value = event.currentTarget.value;
            page.value = 0;
          }}
        />
        <button type="button" class="button" onClick={save} disabled={rows.length === 0}>
          Save as CSV
        </button>
      </div>
      {isLoading && <Loading rows={10} />}
      {error !== undefined && answer === undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && rows.length === 0 && <Empty>Nothing is found.</Empty>}
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard.
        <section class="table-scroll" tabIndex={0} aria-label={`${tab.title}, ${count(rows.length)} rows`}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{tab.title}</th>
                {columns.map(({ id, title }) => {
                  const isSorted = (sorted.value.id || columns[0]?.id) === id;
                  const order = sorted.value.isAscending ? 'ascending' : 'descending';
                  return (
                    <th scope="col" class="number" key={id} aria-sort={isSorted ? order : undefined}>
                      <button type="button" class="plain" onClick={() => sortBy(id)}>
                        <span aria-hidden="true">
                          {isSorted ? (sorted.value.isAscending ? '↑ ' : '↓ ') : ''}
                        </span>
                        {title}
                      </button>
                    </th>
                  );
                })}
              </tr>
            </thead>
            <tbody>
              {rows.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS).map((row) => (
                <tr key={row.key}>
                  <th scope="row">
                    <button
                      type="button"
                      class="plain cell-label"
                      title={row.label}
                      onClick={() => {
                        filterBy(row.filters);
                        onClose();
                      }}
                    >
                      {row.label}
                      {row.hint !== undefined && <span class="ranked-hint">{row.hint}</span>}
                    </button>
                  </th>
                  {columns.map(({ id, numberOf, format }) => (
                    <td class="number" key={id}>
                      {format(numberOf(row), currency)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <footer class="pager">
        <span class="quiet">
          {count(rows.length)} {rows.length === 1 ? 'row' : 'rows'}
          {answer?.length === LOADED_MAX &&
            `: the ${count(LOADED_MAX)} with most ${tab.unit}; search finds the others`}
        </span>
        {pages > 1 && (
          <span class="pager-buttons">
            <button
              type="button"
              class="button"
              disabled={at === 0}
              onClick={() => {
                page.value = at - 1;
              }}
            >
              Previous
            </button>
            <span>
              {at + 1} / {pages}
            </span>
            <button
              type="button"
              class="button"
              disabled={at === pages - 1}
              onClick={() => {
                page.value = at + 1;
              }}
            >
              Next
            </button>
          </span>
        )}
      </footer>
    </Modal>
  );
}
