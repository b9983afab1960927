import { useSignal } from '@preact/signals';
import type { BreakdownAnswer } from '../../../insights/breakdown-api.ts';
import type { NamesAnswer } from '../../../insights/vocabulary-api.ts';
import { type ChosenFilter, go, look, UNFILTERED } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { FIELDS, fieldsFor, isOperator, isUnary, OPERATOR_NAMES, OPERATOR_WORDS } from '../data/fields.ts';
import { valueLabel } from '../data/filter-words.ts';
import { questionOf } from '../data/questions.ts';
import { isShared } from '../data/session.ts';
import { Modal } from './modal.tsx';

const SUGGESTED_MAX = '200';
const PROPERTY = 'properties.';

/** Adds a filter, or changes the one at `index`: field, operator, and one value a line. */
export function FilterForm({ index, onClose }: { readonly index: number; readonly onClose: () => void }) {
  const given = look.value.filters[index];
  const chosen = useSignal<ChosenFilter>(given ?? { name: 'path', operator: 'is', values: [] });
  const { name, operator, values } = chosen.value;
  const isProperty = name.startsWith(PROPERTY);
  const set = (change: Partial<ChosenFilter>) => {
    chosen.value = { ...chosen.value, ...change };
  };
  const kept = values.map((value) => value.trim()).filter((value) => value !== '');
  const isComplete = (isUnary(operator) || kept.length > 0) && name !== PROPERTY;
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (!isComplete) return;
    const filter = { name, operator, values: isUnary(operator) ? [] : kept };
    go({ filters: look.value.filters.toSpliced(index, 1, filter) });
    onClose();
  };
  return (
    <Modal title={given === undefined ? 'Add a filter' : 'Change the filter'} onClose={onClose} size="small">
      <form class="form" onSubmit={onSubmit}>
        <label>
          Field
          <select
            value={isProperty ? PROPERTY : name}
            onChange={(event) => set({ name: event.currentTarget.value, values: [] })}
          >
            {fieldsFor(isShared.value).map((field) => (
              <option key={field.name} value={field.name}>
                {field.title}
              </option>
            ))}
            {!isShared.value && <option value={PROPERTY}>Property of an event</option>}
          </select>
        </label>
        {isProperty && (
          <label>
            Key of the property
            <input
              required
              value={name.slice(PROPERTY.length)}
              onInput={(event) => set({ name: PROPERTY + event.currentTarget.value })}
            />
          </label>
        )}
        <label>
          Operator
          <select
            value={operator}
            onChange={(event) => {
              const next = event.currentTarget.value;
              if (isOperator(next)) set({ operator: next });
            }}
          >
            {OPERATOR_NAMES.map((one) => (
              <option key={one} value={one}>
                {OPERATOR_WORDS[one]}
              </option>
            ))}
          </select>
        </label>
        {!isUnary(operator) && (
          <label>
            Values, one a line; one of them must match
            <textarea
              rows={3}
              value={values.join('\n')}
              onInput={(event) => set({ values: event.currentTarget.value.split('\n') })}
            />
          </label>
        )}
        {!isUnary(operator) && (
          <Suggestions name={name} kept={kept} add={(value) => set({ values: [...kept, value] })} />
        )}
        <div class="form-end">
          <button type="submit" class="button main" disabled={!isComplete}>
            {given === undefined ? 'Add the filter' : 'Change it'}
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** The most frequent values of the field in the period, without the present filters. */
function Suggestions({
  name,
  kept,
  add,
}: {
  readonly name: string;
  readonly kept: readonly string[];
  readonly add: (value: string) => void;
}) {
  const { answer } = useAnswer<readonly SuggestedRow[]>(suggestionsOf(name));
  const label = valueLabel(name);
  const typed = kept.at(-1)?.toLowerCase() ?? '';
  const all = (answer ?? []).flatMap((row) =>
    'path' in row ? [row.path] : row.name === null ? [] : [row.name],
  );
  const others = [...new Set(all)].filter((value) => !kept.includes(value));
  const matching = others.filter(
    (value) => value.toLowerCase().includes(typed) || label(value).toLowerCase().includes(typed),
  );
  const shown = (matching.length > 0 ? matching : others).slice(0, 8);
  if (shown.length === 0) return null;
  return (
    <ul class="suggestions" aria-label="Frequent values">
      {shown.map((value) => (
        <li key={value}>
          <button type="button" class="chip-words" title={value} onClick={() => add(value)}>
            {label(value)}
          </button>
        </li>
      ))}
    </ul>
  );
}

type SuggestedRow = BreakdownAnswer[number] | NamesAnswer[number] | { readonly path: string };

function suggestionsOf(name: string): string | undefined {
  const plain = { ...look.value, ...UNFILTERED };
  const ask = (path: string, more = {}) => questionOf(plain, path, { limit: SUGGESTED_MAX, ...more });
  if (name === 'path') return ask('pages');
  if (name === 'entryPath' || name === 'exitPath')
    return ask('pages/entry_exit', { mode: name.slice(0, -4) });
  if (name === 'name') return ask('events/names');
  const dimension = FIELDS.find((field) => field.name === name)?.dimension;
  return dimension === undefined ? undefined : ask(dimension);
}
