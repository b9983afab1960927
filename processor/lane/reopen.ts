import { StoreError } from '../../infra/store/store.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { EndedByPlace, EndedQuestion } from '../fold/session-answers.ts';
import { type FlushOptions, pause, persist } from './flush.ts';
import { latestOfBoth, latestSessions } from './latest-sessions.ts';
import { storedSessions } from './load-state.ts';

/** Somebody waits for the answer to a payment, and a collector believes in silence soon after. */
const ANSWER_MAX_MS = 1_500;
const NOTHING_STORED: EndedByPlace = new Map();

/**
 * Brings the sessions that the fold stopped for from the store to the worker, again and again while the store is away:
 * what was paid belongs to them and to no other, so the partition waits. False when the lane stops meanwhile.
 */
export async function loadEnded(options: FlushOptions, named: readonly NamedSession[]): Promise<boolean> {
  const { store, worker, partition, metrics, log, ownership, hurry } = options;
  for (let attempt = 0; hurry() === 'no'; attempt += 1) {
    try {
      await worker.ended(partition, named, await storedSessions(store, partition, named));
      metrics.sessionLoads.add();
      return true;
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'retryable') throw error;
      metrics.sessionLoadRetries.add();
      const level = attempt < 3 ? 'info' : attempt < 10 ? 'warn' : 'error';
      const reason = error.message;
      log[level]({ partition, attempt, reason }, 'lane: the store did not give ended sessions; again');
      await pause(options, attempt);
      await persist(options, () => ownership.renew());
    }
  }
  return false;
}

/**
 * The latest sessions for questions for credit, from the store and from what is held. When the store is away or slow,
 * what is held has to do. `flush` brings what was let go and not flushed yet to the store.
 */
export async function findEnded(
  { store, partition, metrics, log }: FlushOptions,
  questions: readonly EndedQuestion[],
  flush: () => Promise<void>,
): Promise<EndedByPlace> {
  const found = flush().then(() => latestSessions(store, partition, questions));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the store is slow')), ANSWER_MAX_MS);
  });
  try {
    return await Promise.race([found, late]);
  } catch (error) {
    found.catch(() => {}); // Nobody waits for it any more, and its failure is counted here.
    metrics.sessionQuestionFailures.add();
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ partition, reason }, 'lane: ended sessions were not found in the store');
    return latestOfBoth(questions, NOTHING_STORED);
  } finally {
    clearTimeout(timer);
  }
}
