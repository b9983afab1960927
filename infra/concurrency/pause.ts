/**
 * Resolves after `ms`. Unlike `setTimeout` of `node:timers/promises` it uses the timers of the global object, so that
 * a simulation, which replaces those, decides when it ends.
 */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
