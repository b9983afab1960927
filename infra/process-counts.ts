/** The number of collectors that pay off on a machine. `launch/settings.mjs` has the same rules; `launch/README.md` gives the reasons. */
export function collectorsFor(cores: number): number {
  return Math.max(1, Math.round((cores * 3) / 8));
}

/** The number of event-processing threads that pay off on a machine. */
export function workersFor(cores: number): number {
  return Math.min(8, Math.ceil(cores / 4));
}
