import type { LiveNumberAnswer } from '../../live/live-api.ts';

/** Why there is no answer, in words for the wall. */
export interface Failure {
  readonly message: string;
  /** True if this page may no longer see the site. */
  readonly isForbidden: boolean;
}

const ANSWER_MAX_MS = 10_000;
const PAUSE_MAX_MS = 15_000;
const FORBIDDEN = [401, 403, 404];

/**
 * Repeats the request until the returned function is called. After failures the pauses grow, each shortened by a random part, so
 * not all walls ask together when a service is back.
 */
export function poll(
  url: string,
  everyMs: number,
  answered: (answer: LiveNumberAnswer, headers: Headers) => void,
  failed: (failure: Failure) => void,
): () => void {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  const ask = async () => {
    const result = await answerOf(url, over.signal);
    if (over.signal.aborted) return;
    if ('answer' in result) {
      failures = 0;
      timer = setTimeout(() => void ask(), everyMs);
      answered(result.answer, result.headers);
    } else {
      const pauseMs = Math.min(PAUSE_MAX_MS, everyMs * 2 ** failures);
      failures += 1;
      timer = setTimeout(() => void ask(), pauseMs * (0.5 + Math.random() / 2));
      failed(result);
    }
  };
  void ask();
  return () => {
    over.abort();
    clearTimeout(timer);
  };
}

async function answerOf(
  url: string,
  over: AbortSignal,
): Promise<Failure | { readonly answer: LiveNumberAnswer; readonly headers: Headers }> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([over, AbortSignal.timeout(ANSWER_MAX_MS)]),
    });
    const answer: unknown = await response.json();
    if (response.ok) return { answer: answer as LiveNumberAnswer, headers: response.headers };
    return { message: messageOf(answer, response.status), isForbidden: FORBIDDEN.includes(response.status) };
  } catch {
    return { message: 'The service cannot be reached.', isForbidden: false };
  }
}

function messageOf(answer: unknown, status: number): string {
  const isMessage = typeof answer === 'object' && answer !== null && 'message' in answer;
  const text =
    isMessage && typeof answer.message === 'string' ? answer.message : `the service answered ${status}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
