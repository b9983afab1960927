export type StopRequests = { readonly requested: Promise<void>; dispose(): void };

// npm forwards Ctrl-C to a process that has already received it from the terminal, so one key press can arrive twice.
const ONE_PRESS_MS = 1_000;
const FORCED_EXIT_CODE = 130;

/**
 * Listens for requests to stop. The first one asks for a drain; the second, from a user who does not want to wait,
 * calls `kill` and ends the program.
 */
export function stopRequests(kill: () => void): StopRequests {
  let firstAtMs = 0;
  let resolveRequested: () => void = () => {};
  const requested: Promise<void> = new Promise((resolve) => {
    resolveRequested = resolve;
  });
  const onSignal = () => {
    const nowMs = performance.now();
    if (firstAtMs === 0) {
      firstAtMs = nowMs;
      resolveRequested();
    } else if (nowMs - firstAtMs > ONE_PRESS_MS) {
      kill();
      process.exit(FORCED_EXIT_CODE);
    }
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, onSignal);
  return {
    requested,
    dispose: () => {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
