import { isRetryable, retry } from '../../infra/concurrency/retry.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { EndedByPlace, EndedQuestion } from '../fold/session-answers.ts';
import { type FlushOptions, persist, retryOptions } from './flush.ts';
import { latestOfBoth, latestSessions } from './latest-sessions.ts';
import { storedSessions } from './load-state.ts';

/** A collector waits for the answer, and takes silence for an absent owner soon after. */
const ANSWER_MAX_MS = 1_500;
const NOTHING_STORED: EndedByPlace = new Map();

/**
 * Brings the sessions named by a message from the store to the slices, however long the store is unavailable: a payment belongs to the
 * session that it names and to no other, so the lane waits. False when the lane stops meanwhile.
 */
export async function loadEnded(options: FlushOptions, named: readonly NamedSession[]): Promise<boolean> {
  const { store, slices, metrics, ownership, hurry } = options;
  const isStopping = () => hurry() !== 'no';
  if (isStopping()) return false;
  const load = {
    ...retryOptions(options),
    operation: 'load of ended sessions',
    retries: metrics.sessionLoadRetries,
    isEnough: isStopping,
    beforeRetry: () => persist(options, 'lease renewal', () => ownership.renew()),
  };
  try {
    await retry(load, async () => slices.ended(named, await storedSessions(store, named)));
  } catch (error) {
    if (isStopping() && isRetryable(error)) return false;
    throw error;
  }
  metrics.sessionLoads.add();
  return true;
}

/**
 * The latest sessions for credit questions, among the stored and the retained ones. When the store is unavailable or slow, the retained
 * ones have to do. `flush` brings sessions that were evicted and not flushed yet to the store.
 */
export async function findEnded(
  { store, lane, metrics, log }: FlushOptions,
  questions: readonly EndedQuestion[],
  flush: () => Promise<void>,
): Promise<EndedByPlace> {
  const found = flush().then(() => latestSessions(store, questions));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the store is slow')), ANSWER_MAX_MS);
  });
  try {
    return await Promise.race([found, late]);
  } catch (error) {
    found.catch(() => {}); // The answer no longer waits for it, and its failure is counted here.
    metrics.sessionQuestionFailures.add();
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ lane, reason }, 'the store did not look up ended sessions, answering from memory');
    return latestOfBoth(questions, NOTHING_STORED);
  } finally {
    clearTimeout(timer);
  }
}
