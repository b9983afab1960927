import { useSignal } from '@preact/signals';
import { AnswerError } from './service.ts';

/** A pending change, and the outcome of the last one. */
export interface Saving {
  readonly isRunning: boolean;
  readonly isDone: boolean;
  readonly problem: AnswerError | undefined;
  /** Runs a change. Resolves with false when it failed, which `problem` then says. */
  readonly run: (change: () => Promise<unknown>) => Promise<boolean>;
  readonly clear: () => void;
}

/** Follows the changes that a form makes, one at a time. */
export function useSaving(): Saving {
  const state = useSignal<Pick<Saving, 'isRunning' | 'isDone' | 'problem'>>({
    isRunning: false,
    isDone: false,
    problem: undefined,
  });
  return {
    ...state.value,
    run: async (change) => {
      state.value = { isRunning: true, isDone: false, problem: undefined };
      try {
        await change();
        state.value = { isRunning: false, isDone: true, problem: undefined };
        return true;
      } catch (error) {
        const problem = error instanceof AnswerError ? error : new AnswerError(0, String(error));
        state.value = { isRunning: false, isDone: false, problem };
        return false;
      }
    },
    clear: () => {
      state.value = { isRunning: false, isDone: false, problem: undefined };
    },
  };
}

/** The service's message about one field; such messages begin with the name of the field. */
export function problemOf(problem: AnswerError | undefined, field: string): string | undefined {
  const message = problem?.message ?? '';
  const [, place, text] = /^([\w.]+): (.*)$/s.exec(message) ?? [];
  return place === field || place?.startsWith(`${field}.`) ? text : undefined;
}
