/** The shortest pause between two looks. */
const PAUSE_MIN_MS = 20;
/** The pause in durations of the last look: a look may be a statement of 20 ms and more, and must not keep a core busy. */
const PAUSE_PER_LOOK = 4;
const PAUSE_MAX_MS = 500;
/** Only for tests that hang: it is no measure of speed. */
const WAIT_MAX_MS = 120_000;

/**
 * Looks until there is something, and returns it.
 * @throws {Error} at the deadline
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  maxMs: number = WAIT_MAX_MS,
): Promise<T> {
  const endMs = performance.now() + maxMs;
  for (;;) {
    const beganMs = performance.now();
    const found = await look();
    if (found !== undefined) return found;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`waited ${maxMs} ms in vain: ${what}`);
    const pauseMs = Math.max(PAUSE_MIN_MS, PAUSE_PER_LOOK * (nowMs - beganMs));
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, PAUSE_MAX_MS)));
  }
}
