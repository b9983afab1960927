/**
 * CONTRACT: the figures of a session, each defined once for all that compute it: the fold in memory, the rollup job, statements over rows,
 * and the rows that the query process holds.
 *
 * Sums, averages and rates of no sessions are 0 (`query/insights/README.md`).
 */

/** The most screen views of a bounce. Other events do not change that. */
const BOUNCE_VIEWS_MAX = 1;

/** True for a session that is a bounce. */
export function isBounce(screenViews: number): boolean {
  return screenViews <= BOUNCE_VIEWS_MAX;
}

/** The same as text of a statement. `screenViews` is the column. */
export function bounceText(screenViews = 'screenViews'): string {
  return `${screenViews} <= ${BOUNCE_VIEWS_MAX}`;
}

/** The length of a session from its first event to its last, in milliseconds like both times. */
export function durationMsOf(startedAtMs: number, endedAtMs: number): number {
  return endedAtMs - startedAtMs;
}

/** The same as text of a statement over rows of sessions. `qualifier` is a table alias with a dot, or nothing. */
export function durationMsText(qualifier = ''): string {
  return `(toUnixTimestamp64Milli(${qualifier}endedAt) - toUnixTimestamp64Milli(${qualifier}startedAt))`;
}

/** Names of the sums over sessions. */
interface SumNames {
  readonly sessions: string;
  readonly bounces: string;
  readonly durationMs: string;
}

/** The names in rollups and in statements that add further rows. */
export const PART_NAMES: SumNames = { sessions: 'begun', bounces: 'bounced', durationMs: 'lastedMs' };
/** The names in answers. */
export const FIGURE_NAMES: SumNames = { sessions: 'sessions', bounces: 'bounces', durationMs: 'durationMs' };

/**
 * The number of sessions, of bounces, and their total duration, as columns of a statement over states of sessions. Each is a sum over
 * `sign`, so states that cancel each other add up to 0. `condition` limits the states.
 */
export function sessionSums(names: SumNames, condition?: string): string {
  const sumOf = (amount: string, fits?: string) => {
    const conditions = [fits, condition].filter((one) => one !== undefined).join(' AND ');
    return conditions === '' ? `sum(${amount})` : `sumIf(${amount}, ${conditions})`;
  };
  return [
    `${sumOf('sign')} AS ${names.sessions}`,
    `${sumOf('sign', bounceText())} AS ${names.bounces}`,
    `${sumOf(`sign * ${durationMsText()}`)} AS ${names.durationMs}`,
  ].join(', ');
}
