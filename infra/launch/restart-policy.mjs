/**
 * @typedef {object} RestartState
 * @property {number} failures in a row, for the waiting time; a minute of health forgets them
 * @property {number} earlyFailures in a row, for giving up; a run beyond its first seconds forgets them
 */
/** @typedef {RestartState & { readonly delayMs: number, readonly givesUp: boolean }} RestartDecision */

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;
const HEALTHY_MS = 60_000;
const FIRST_SECONDS_MS = 10_000;
const EARLY_FAILURES_MAX = 8;

/** @type {RestartState} */
export const NO_FAILURES = { failures: 0, earlyFailures: 0 };

/**
 * What to do about a part that died after it had lived for `livedMs`. A part that dies now and then is always started
 * again; one that cannot even live through its first seconds is given up after some tries, since that needs a person.
 * @param {RestartState} state
 * @param {number} livedMs
 * @returns {RestartDecision}
 */
export function afterDeath(state, livedMs) {
  const failures = (livedMs >= HEALTHY_MS ? 0 : state.failures) + 1;
  const earlyFailures = livedMs >= FIRST_SECONDS_MS ? 0 : state.earlyFailures + 1;
  return {
    failures,
    earlyFailures,
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20)),
    givesUp: earlyFailures >= EARLY_FAILURES_MAX,
  };
}
