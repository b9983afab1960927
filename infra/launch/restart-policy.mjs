/**
 * @typedef {object} RestartState
 * @property {number} failures in a row, for the delay; reset after a healthy minute
 * @property {number} earlyFailures in a row, for giving up; reset by a run that lasts longer than 10 s
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
 * Decides what to do about a part that exited after `livedMs`. A part that exits now and then is always restarted. One
 * that repeatedly exits within its first 10 seconds is given up, because it needs an operator; while the disk is full, that
 * is a reason that ends by itself, so those exits do not count.
 * @param {RestartState} state
 * @param {number} livedMs
 * @param {{ isDiskFull?: boolean }} [circumstances]
 * @returns {RestartDecision}
 */
export function afterDeath(state, livedMs, { isDiskFull = false } = {}) {
  const failures = (livedMs >= HEALTHY_MS ? 0 : state.failures) + 1;
  const earlyFailures = isDiskFull || livedMs >= FIRST_SECONDS_MS ? 0 : state.earlyFailures + 1;
  return {
    failures,
    earlyFailures,
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20)),
    givesUp: earlyFailures >= EARLY_FAILURES_MAX,
  };
}
