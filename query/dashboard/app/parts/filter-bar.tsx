import { useSignal } from '@preact/signals';
import { go, look, UNFILTERED } from '../data/address.ts';
import { filterWords } from '../data/filter-words.ts';
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
                title={filterWords(filter)}
                onClick={() => {
                  edited.value = index;
                }}
              >
                {filterWords(filter)}
              </button>
              <button
                type="button"
                class="chip-cross"
                aria-label={`Remove the filter: ${filterWords(filter)}`}
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
