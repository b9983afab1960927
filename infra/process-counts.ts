/** The number of collectors that pay off on a machine; `launch/README.md` gives the reasons. Only on Linux can several share a port. */
export function collectorsFor(cores: number, platform: NodeJS.Platform = process.platform): number {
  if (platform !== 'linux') return 1;
  return Math.max(1, Math.round((cores * 3) / 8));
}

/** The number of event-processing threads that pay off on a machine. */
export function workersFor(cores: number): number {
  return Math.min(8, Math.ceil(cores / 4));
}
