import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { problemOf } from '../data/saving.ts';
import type { AnswerError } from '../data/service.ts';

interface FieldWords {
  readonly label: string;
  /** The name of the field in the service's messages. */
  readonly name: string;
  readonly hint?: string;
  readonly problem: AnswerError | undefined;
}

interface TextFieldProps extends FieldWords {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'email' | 'number' | 'date' | 'password' | 'url';
  readonly isRequired?: boolean;
  readonly suggestions?: readonly string[];
}

/** A field of a form, with the service's message about its value beside it. */
export function TextField({
  value,
  onInput,
  type = 'text',
  isRequired = false,
  suggestions,
  ...words
}: TextFieldProps) {
  const id = useId();
  return (
    <Field id={id} {...words}>
      <input
        id={id}
        // To the library's types each kind of field is another one; these differ in nothing that is used here.
        type={type as 'text'}
        value={value}
        required={isRequired}
        autocomplete="off"
        list={suggestions === undefined ? undefined : `${id}-known`}
        {...described(id, words)}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {suggestions !== undefined && (
        <datalist id={`${id}-known`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

/** A list, one entry a line. */
export function LinesField({
  value,
  onInput,
  ...words
}: FieldWords & { readonly value: string; readonly onInput: (value: string) => void }) {
  const id = useId();
  return (
    <Field id={id} {...words}>
      <textarea
        id={id}
        rows={Math.min(8, Math.max(2, value.split('\n').length))}
        value={value}
        spellcheck={false}
        {...described(id, words)}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </Field>
  );
}

/** A choice among few. */
export function ChoiceField({
  value,
  choices,
  onChoose,
  ...words
}: FieldWords & {
  readonly value: string;
  readonly choices: readonly (readonly [value: string, title: string])[];
  readonly onChoose: (value: string) => void;
}) {
  const id = useId();
  return (
    <Field id={id} {...words}>
      <select
        id={id}
        value={value}
        {...described(id, words)}
        onInput={(event) => onChoose(event.currentTarget.value)}
      >
        {choices.map(([one, title]) => (
          <option key={one} value={one}>
            {title}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** A colour, or none of its own: `preset` is then the one that is seen, where it is known, and `presetWords` say it. */
export function ColorField({
  value,
  preset,
  presetWords,
  onChoose,
  ...words
}: FieldWords & {
  readonly value: string | undefined;
  readonly preset: string | undefined;
  readonly presetWords: string;
  readonly onChoose: (value: string | undefined) => void;
}) {
  const id = useId();
  const shown = value ?? preset;
  return (
    <Field id={id} {...words}>
      <span class="color">
        <input
          id={id}
          type="color"
          class={shown === undefined ? 'unset' : undefined}
          value={shown ?? '#808080'}
          {...described(id, words)}
          onInput={(event) => onChoose(event.currentTarget.value)}
        />
        <span class={value === undefined ? 'quiet' : 'color-code'}>{value ?? presetWords}</span>
        {value !== undefined && (
          <button type="button" class="plain" onClick={() => onChoose(undefined)}>
            Reset<span class="unseen"> {words.label}</span>
          </button>
        )}
      </span>
    </Field>
  );
}

/** Something that is on or off. Its first event counts: the form renders anew before the second one. */
export function SwitchField({
  label,
  hint,
  isOn,
  onSwitch,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly isOn: boolean;
  readonly onSwitch: (isOn: boolean) => void;
}) {
  return (
    <label class="switch">
      <input type="checkbox" checked={isOn} onInput={(event) => onSwitch(event.currentTarget.checked)} />
      <span>
        {label}
        {hint !== undefined && <span class="field-hint">{hint}</span>}
      </span>
    </label>
  );
}

/** The value of a field that a signal holds, and how typing changes it. */
export function bound(text: Signal<string>) {
  return {
    value: text.value,
    onInput: (next: string) => {
      text.value = next;
    },
  };
}

/** The same of a choice. */
export function chosen(choice: Signal<string>) {
  return {
    value: choice.value,
    onChoose: (next: string) => {
      choice.value = next;
    },
  };
}

/** The lines of a field that are not empty. */
export function linesIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function Field({
  id,
  label,
  name,
  hint,
  problem,
  children,
}: FieldWords & { readonly id: string; readonly children: ComponentChildren }) {
  const wrong = problemOf(problem, name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <span class="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong !== undefined && (
        <span class="field-problem" id={`${id}-problem`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}

function described(id: string, { name, hint, problem }: FieldWords) {
  const isWrong = problemOf(problem, name) !== undefined;
  const parts = [hint !== undefined && `${id}-hint`, isWrong && `${id}-problem`].filter(
    (part) => part !== false,
  );
  return {
    'aria-invalid': isWrong ? ('true' as const) : undefined,
    'aria-describedby': parts.length === 0 ? undefined : parts.join(' '),
  };
}
