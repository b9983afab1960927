import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { AnswerError, ask } from './service.ts';

/** The state of a question: the last answer stays while a newer one loads, and when loading fails. */
export interface Answered<Answer> {
  readonly answer: Answer | undefined;
  readonly error: AnswerError | undefined;
  readonly isLoading: boolean;
  readonly retry: () => void;
}

interface Kept {
  readonly answer: unknown;
  readonly atMs: number;
}

/** Maximum number of kept answers; the least recently used one is evicted. */
const KEPT_MAX = 200;
/** A younger answer is not asked for again. */
const FRESH_MS = 5_000;
/** Visible questions are asked again this often. */
const EVERY_MS = 30_000;
const RETRY_MIN_MS = 3_000;
const RETRY_MAX_MS = 60_000;

const kept = new Map<string, Kept>();
const underway = new Map<string, Promise<unknown>>();

/** Forgets all answers, because someone else may sign in. */
export function forgetAnswers(): void {
  kept.clear();
}

/** Asks, or returns an answer from a moment ago. Parallel questions of one address are one request. */
export function answerTo<Answer>(address: string, { isFresh = false } = {}): Promise<Answer> {
  const known = kept.get(address);
  if (!isFresh && known !== undefined && Date.now() - known.atMs < FRESH_MS)
    return Promise.resolve(known.answer as Answer);
  const running = underway.get(address);
  if (running !== undefined) return running as Promise<Answer>;
  const asked = ask<Answer>(address)
    .then((answer) => {
      keep(address, answer);
      return answer;
    })
    .finally(() => underway.delete(address));
  underway.set(address, asked);
  return asked;
}

/**
 * The answer to a question while a part is shown. A kept answer is shown immediately, so going back paints without a wait; it is
 * then requested again, and every half minute while the page is visible. `undefined` asks nothing.
 */
export function useAnswer<Answer>(address: string | undefined, everyMs = EVERY_MS): Answered<Answer> {
  const state = useSignal<{
    readonly address: string | undefined;
    readonly error?: AnswerError;
    readonly tick: number;
  }>({
    address,
    tick: 0,
  });
  useEffect(() => {
    if (address === undefined) return;
    let isOver = false;
    let failures = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = (error?: AnswerError) => {
      if (isOver) return;
      state.value = { address, tick: state.peek().tick + 1, ...(error && { error }) };
      const pauseMs =
        error === undefined
          ? everyMs
          : Math.min(RETRY_MAX_MS, Math.max(RETRY_MIN_MS, error.retryAfterS * 1_000) * failures);
      const mayPass =
        error === undefined || error.status === 0 || error.status === 429 || error.status >= 500;
      if (mayPass) timer = setTimeout(() => void refresh(), pauseMs);
    };
    const refresh = async () => {
      if (document.hidden) {
        timer = setTimeout(() => void refresh(), everyMs);
        return;
      }
      try {
        await answerTo<Answer>(address);
        failures = 0;
        settle();
      } catch (error) {
        failures += 1;
        settle(error instanceof AnswerError ? error : new AnswerError(0, String(error)));
      }
    };
    const onVisible = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void refresh();
    };
    document.addEventListener('visibilitychange', onVisible);
    void refresh();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [address, everyMs, state]);
  const { value } = state;
  const known = address === undefined ? undefined : kept.get(address);
  const error = value.address === address ? value.error : undefined;
  return {
    answer: known?.answer as Answer | undefined,
    error,
    isLoading: address !== undefined && known === undefined && error === undefined,
    retry: () => {
      if (address === undefined) return;
      state.value = { address, tick: value.tick + 1 };
      answerTo(address, { isFresh: true }).then(
        () => {
          state.value = { address, tick: state.peek().tick + 1 };
        },
        (failure: unknown) => {
          if (failure instanceof AnswerError)
            state.value = { address, error: failure, tick: state.peek().tick + 1 };
        },
      );
    },
  };
}

function keep(address: string, answer: unknown): void {
  kept.delete(address);
  kept.set(address, { answer, atMs: Date.now() });
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_MAX) return;
    kept.delete(oldest);
  }
}
