import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Saving } from '../data/saving.ts';

/** A form with one button, and its result. A problem that names a shown field is also shown beside this field. */
export function Form({
  saving,
  action,
  onSubmit,
  children,
  label,
}: {
  readonly saving: Saving;
  /** Text of the button. */
  readonly action: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
  readonly label: string;
}) {
  const { isRunning, isDone, problem } = saving;
  return (
    <form
      class="form"
      aria-label={label}
      onInput={saving.clear}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {problem !== undefined && (
        <p class="form-error" role="alert">
          {problem.message}
        </p>
      )}
      <div class="form-end">
        <span class="quiet" role="status">
          {isDone && !isRunning ? 'Saved' : ''}
        </span>
        <button type="submit" class="button main" disabled={isRunning}>
          {action}
        </button>
      </div>
    </form>
  );
}

/** A button for an action that cannot be undone: the first press announces it, the second does it. */
export function ConfirmButton({
  label,
  warning,
  confirmed,
  saving,
  onConfirm,
}: {
  readonly label: string;
  readonly warning: string;
  /** Text of the second button. */
  readonly confirmed: string;
  readonly saving: Saving;
  readonly onConfirm: () => void;
}) {
  const isAsked = useSignal(false);
  if (!isAsked.value)
    return (
      <button
        type="button"
        class="button"
        onClick={() => {
          isAsked.value = true;
        }}
      >
        {label}
      </button>
    );
  return (
    <fieldset class="confirm" aria-label={label}>
      <p>{warning}</p>
      {saving.problem !== undefined && (
        <p class="form-error" role="alert">
          {saving.problem.message}
        </p>
      )}
      <div class="confirm-buttons">
        <button type="button" class="button danger" disabled={saving.isRunning} onClick={onConfirm}>
          {confirmed}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            isAsked.value = false;
            saving.clear();
          }}
        >
          Cancel
        </button>
      </div>
    </fieldset>
  );
}
