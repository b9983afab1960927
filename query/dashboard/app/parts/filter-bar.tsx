import { useSignal } from '@preact/signals';
import { type ChosenFilter, go, look, UNFILTERED } from '../data/address.ts';
import { fieldTitle, isUnary, OPERATOR_WORDS } from '../data/fields.ts';
import { country, language } from '../data/format.ts';
import { later } from './later.tsx';

const FilterForm = later(async () => (await import('./filter-form.tsx')).FilterForm);

/** Filters that hold, as chips: a click changes one, the cross removes it. */
export function FilterBar() {
  const { filters } = look.value;
  const edited = useSignal<number | undefined>(undefined);
  return (
    <>
      {filters.length > 0 && (
        <ul class="chips" aria-label="Filters">
          {filters.map((filter, index) => (
            <li class="chip" key={`${filter.name} ${filter.operator}`}>
              <button
                type="button"
                class="chip-words"
                title={wordsOf(filter)}
                onClick={() => {
                  edited.value = index;
                }}
              >
                {wordsOf(filter)}
              </button>
              <button
                type="button"
                class="chip-cross"
                aria-label={`Remove the filter: ${wordsOf(filter)}`}
                onClick={() => go({ filters: filters.filter((one) => one !== filter) })}
              >
                ✕
              </button>
            </li>
          ))}
          <li>
            <button type="button" class="plain" onClick={() => go(UNFILTERED)}>
              Remove all
            </button>
          </li>
        </ul>
      )}
      {edited.value !== undefined && (
        <FilterForm
          index={edited.value}
          onClose={() => {
            edited.value = undefined;
          }}
        />
      )}
    </>
  );
}

/** Opens the form for another filter. */
export function FilterButton() {
  const isOpen = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="button"
        data-key="F"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        Filter
      </button>
      {isOpen.value && (
        <FilterForm
          index={look.value.filters.length}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

/** A filter as a sentence. */
function wordsOf({ name, operator, values }: ChosenFilter): string {
  const start = `${fieldTitle(name)} ${OPERATOR_WORDS[operator]}`;
  if (isUnary(operator)) return start;
  const label = { country, language }[name] ?? ((value: string) => value);
  return `${start} ${values.map(label).join(' or ')}`;
}
