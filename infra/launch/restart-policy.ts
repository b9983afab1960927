export interface RestartState {
  /** In a row, for the delay; reset after a healthy minute. */
  readonly failures: number;
  /** In a row, for giving up; reset by a run that lasts longer than 10 s. */
  readonly earlyFailures: number;
}

export type RestartDecision = RestartState & { readonly delayMs: number; readonly givesUp: boolean };

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;
const HEALTHY_MS = 60_000;
const FIRST_SECONDS_MS = 10_000;
const EARLY_FAILURES_MAX = 8;

export const NO_FAILURES: RestartState = { failures: 0, earlyFailures: 0 };

/**
 * Decides about a part that exited after `livedMs`. After rare exits it is restarted. Repeated exits within the first 10
 * seconds need an operator, so the part is given up. Exits while the disk is full do not count: that ends by itself.
 */
export function afterDeath(
  state: RestartState,
  livedMs: number,
  { isDiskFull = false }: { isDiskFull?: boolean } = {},
): RestartDecision {
  const failures = (livedMs >= HEALTHY_MS ? 0 : state.failures) + 1;
  const earlyFailures = isDiskFull || livedMs >= FIRST_SECONDS_MS ? 0 : state.earlyFailures + 1;
  return {
    failures,
    earlyFailures,
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20)),
    givesUp: earlyFailures >= EARLY_FAILURES_MAX,
  };
}
