import type { FlushOptions } from './flush.ts';

/**
 * Reconciles record and store before anything is restored. A flush whose sessions are in the store is complete, since
 * they come last; a store that is ahead by more than the declared flush means that the bus has lost its record.
 */
export async function settleIntent(
  { ownership, lane, log, clock }: Pick<FlushOptions, 'ownership' | 'lane' | 'log' | 'clock'>,
  storedNumber: number,
): Promise<void> {
  const { checkpoint, intent } = ownership;
  if (intent !== null && storedNumber === intent.flushNumber) {
    await ownership.complete(intent);
  } else if (storedNumber > checkpoint.flushNumber) {
    if (checkpoint.sequence !== 0 || intent !== null) {
      // If the answer to the take-over came late, another owner may have flushed since: the bus has lost nothing.
      await ownership.renew();
      throw new Error(
        `lane ${lane}: the store has flush ${storedNumber}, but the bus has only recorded ${checkpoint.flushNumber}`,
      );
    }
    // A new bus in front of an old store: continue with the store's flush numbers.
    log.warn(
      { lane, flushNumber: storedNumber },
      'the bus is new and the store is not, continuing from the store',
    );
    await ownership.complete({
      ...checkpoint,
      flushNumber: storedNumber,
      clockMs: clock.nowMs(),
    });
  } else if (storedNumber < checkpoint.flushNumber) {
    log.error(
      { lane, stored: storedNumber, flushNumber: checkpoint.flushNumber },
      'the store has lost flushes that were complete, continuing without them',
    );
  }
}
