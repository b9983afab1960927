import { useSignal } from '@preact/signals';
import { type CardPlan, type CardRow, LEFT_OUT_MAX } from '../cards/card-plan.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { isKeptBack } from '../data/fields.ts';
import { questionOf } from '../data/questions.ts';
import { isShared } from '../data/session.ts';
import type { MapCountry } from '../map/world-map.tsx';
import { later } from './later.tsx';
import { Empty, Failure, Loading } from './notice.tsx';
import { filterBy, RankedList } from './ranked-list.tsx';
import { Tabs } from './tabs.tsx';

/** Rows that a card shows; the full list has all of them. */
const ROWS = 9;
/** More than there are countries. */
const MAP_ROWS = 300;

const FullList = later(async () => (await import('./full-list.tsx')).FullList);
const WorldMap = later(async () => (await import('../map/world-map.tsx')).WorldMap);

/** A card of the overview: tabs, the first rows of the chosen one, and all of them in a dialog. */
export function Card({ plan, sessions }: { readonly plan: CardPlan; readonly sessions: number | undefined }) {
  const { id, title } = plan;
  const tabs = plan.tabs.filter((one) => !isShared.value || !isKeptBack(one.id));
  const isOpen = useSignal(false);
  const tab = tabs.find((one) => one.id === look.value.own[id]) ?? tabs[0];
  const isShare = tab?.unit === 'sessions';
  const most = tab?.isMap ? MAP_ROWS : ROWS;
  const { goal } = look.value.own;
  const asked =
    tab &&
    questionOf(look.value, tab.path, {
      ...tab.asked,
      limit: String(most + LEFT_OUT_MAX),
      goal: isShare ? goal : undefined,
    });
  const { answer, error, isLoading, retry } = useAnswer<readonly unknown[]>(asked);
  if (tab === undefined) return null;
  const rows = answer === undefined ? [] : tab.rowsOf(answer).slice(0, most);
  return (
    <section class="card" aria-labelledby={`${id}-title`} data-card={id}>
      <h2 id={`${id}-title`}>{title}</h2>
      <header class="card-columns">
        {tabs.length > 1 ? (
          <Tabs
            label={title}
            tabs={tabs}
            chosen={tab.id}
            panelId={`${id}-panel`}
            onChoose={(chosen) =>
              goOwn({ [id]: chosen === tabs[0]?.id ? undefined : chosen }, { replace: true })
            }
          />
        ) : (
          <span />
        )}
        <span class="card-unit">
          {isShare ? (goal === undefined ? 'Sessions' : 'Conversion rate, sessions') : 'Events'}
        </span>
      </header>
      <div id={`${id}-panel`} class="card-panel" role="tabpanel" aria-label={tab.title}>
        {isLoading && <Loading rows={ROWS} />}
        {error !== undefined && answer === undefined && <Failure error={error} retry={retry} />}
        {answer !== undefined && rows.length === 0 && <Empty>Nothing in this period.</Empty>}
        {rows.length > 0 && tab.isMap && <WorldMap countries={rows.map(mapCountryOf)} unit="sessions" />}
        {rows.length > 0 && !tab.isMap && (
          <RankedList rows={rows} total={isShare ? sessions : undefined} unit={tab.unit} />
        )}
      </div>
      <footer class="card-foot">
        {rows.length > 0 && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              isOpen.value = true;
            }}
          >
            Show all<span class="unseen"> {tab.title.toLowerCase()}</span>
          </button>
        )}
      </footer>
      {isOpen.value && (
        <FullList
          tab={tab}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </section>
  );
}

function mapCountryOf({ filters, value }: CardRow): MapCountry {
  return { code: filters[0]?.values[0] ?? '', value, choose: () => filterBy(filters) };
}
