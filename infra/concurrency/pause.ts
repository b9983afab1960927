/**
 * Resolves after `ms`. Unlike `setTimeout` of `node:timers/promises` it goes by the timers of the global object, so that
 * whoever replaces those, as a simulation does, also decides when this ends.
 */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
