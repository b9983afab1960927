/** @typedef {{ readonly requested: Promise<void>, dispose(): void }} StopRequests */

// npm forwards Ctrl-C to a process that has already received it from the terminal, so one key press can arrive twice.
const ONE_PRESS_MS = 1_000;
const FORCED_EXIT_CODE = 130;

/**
 * Listens for requests to stop. The first one asks for a drain; the second, from a user who does not want to wait,
 * calls `kill` and ends the program.
 * @param {() => void} kill
 * @returns {StopRequests}
 */
export function stopRequests(kill) {
  let firstAtMs = 0;
  /** @type {() => void} */
  let resolveRequested = () => {};
  /** @type {Promise<void>} */
  const requested = new Promise((resolve) => {
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
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  for (const name of signals) process.on(name, onSignal);
  return {
    requested,
    dispose: () => {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
