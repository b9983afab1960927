import { setTimeout as sleep } from 'node:timers/promises';
import { isBeingMade, isForming } from './bus-error.ts';

const FORMING_MAX_MS = 15_000;
const FORMING_EVERY_MS = 300;

/**
 * Returns the result of `act`, which creates something. Repeated for a while: a new cluster takes some seconds until
 * its servers have found each other and chosen a leader, and processes that start together create the same.
 */
export async function whenFormed<Result>(act: () => Promise<Result>): Promise<Result> {
  const endMs = performance.now() + FORMING_MAX_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(isForming(error) || isBeingMade(error)) || performance.now() > endMs) throw error;
      await sleep(FORMING_EVERY_MS);
    }
  }
}
