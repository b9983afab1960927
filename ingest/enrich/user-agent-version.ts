/**
 * The first numbers of a version, at most `parts` of them: `124.0.6367.82` with two parts is `124.0`. Empty when there
 * is none.
 */
export function leadingNumbers(version: string, parts: number): string {
  const numbers = /^\d+(?:\.\d+)*/.exec(version.replaceAll('_', '.'))?.[0] ?? '';
  return numbers.split('.', parts).join('.');
}

/** User agents are cut to this length first; no real one is longer. */
export const USER_AGENT_MAX = 1024;
