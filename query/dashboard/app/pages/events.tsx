import type { NamesAnswer, PropertyValuesAnswer } from '../../../insights/vocabulary-api.ts';
import { go, goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { count, share } from '../data/format.ts';
import { questionOf, withFilter } from '../data/questions.ts';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const NAMES_MAX = '200';
const ADDED = ['session_start', 'session_end'];

/** The events of the period by name, and the properties that a chosen one has, with their values. */
export function Events() {
  const { answer, error, isLoading, retry } = useAnswer<NamesAnswer>(
    questionOf(look.value, 'events/names', { limit: NAMES_MAX }),
  );
  const names = answer?.filter(({ name }) => !ADDED.includes(name));
  const chosen =
    look.value.own.event ?? names?.find(({ name }) => name !== 'screen_view')?.name ?? names?.[0]?.name;
  return (
    <>
      <ViewTools />
      <div class="columns">
        <section class="card" aria-label="Events by name" data-list="names">
          <h2>Events</h2>
          {isLoading && <Loading rows={6} />}
          {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
          {names?.length === 0 && <Empty>No event in this period.</Empty>}
          <CountedList
            rows={(names ?? []).map(({ name, count: events }) => ({ name, events }))}
            chosen={chosen}
            onChoose={(event) => goOwn({ event, property: undefined })}
          />
        </section>
        {chosen !== undefined && <Properties event={chosen} key={chosen} />}
      </div>
    </>
  );
}

function Properties({ event }: { readonly event: string }) {
  const { answer, error, isLoading, retry } = useAnswer<NamesAnswer>(
    questionOf(look.value, 'events/properties', { event, limit: NAMES_MAX }),
  );
  const property = look.value.own.property ?? answer?.[0]?.name;
  return (
    <>
      <section class="card" aria-label={`Properties of ${event}`} data-list="properties">
        <h2>Properties of {event}</h2>
        {isLoading && <Loading rows={4} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer?.length === 0 && <Empty>These events have no properties.</Empty>}
        <CountedList
          rows={(answer ?? []).map(({ name, count: events }) => ({ name, events }))}
          chosen={property}
          onChoose={(next) => goOwn({ event, property: next })}
        />
      </section>
      {property !== undefined && <Values event={event} property={property} key={property} />}
    </>
  );
}

function Values({ event, property }: { readonly event: string; readonly property: string }) {
  const { answer, error, isLoading, retry } = useAnswer<PropertyValuesAnswer>(
    questionOf(look.value, 'events/property_values', { event, property, limit: NAMES_MAX }),
  );
  const filterBy = (value: string) =>
    go({
      filters: withFilter(look.value.filters, {
        name: `properties.${property}`,
        operator: 'is',
        values: [value],
      }),
    });
  return (
    <section class="card" aria-label={`Values of ${property}`} data-list="values">
      <h2>Values of {property}</h2>
      {isLoading && <Loading rows={4} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      <CountedList
        rows={(answer ?? []).map(({ value, count: events }) => ({ name: value, events }))}
        chosen={undefined}
        onChoose={filterBy}
      />
    </section>
  );
}

function CountedList({
  rows,
  chosen,
  onChoose,
}: {
  readonly rows: readonly { readonly name: string; readonly events: number }[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}) {
  const most = Math.max(1, ...rows.map(({ events }) => events));
  const total = rows.reduce((sum, { events }) => sum + events, 0);
  return (
    <ol class="ranked">
      {rows.map(({ name, events }) => (
        <li key={name}>
          <button
            type="button"
            class="ranked-row"
            title={name}
            aria-current={name === chosen ? 'true' : undefined}
            onClick={() => onChoose(name)}
          >
            <span class="ranked-bar" style={{ inlineSize: `${(events / most) * 100}%` }} />
            <span class="ranked-label">{name}</span>
            <span class="ranked-share">{share(events, total)}</span>
            <span class="ranked-value">{count(events)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
