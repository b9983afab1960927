import type { SessionField } from './fields.ts';

/**
 * CONTRACT: the figures of a session, each defined once for all that compute it: the fold in memory, the rollup job, statements over rows,
 * and the rows that the query process holds. Parts of its texts are defined here, too.
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

/** A part of a text: as text of a statement over its column, and of the text itself. */
export interface TextForm {
  readonly text: (column: string) => string;
  readonly of: (whole: string) => string;
}

/** The parts of texts that fields of sessions have, by their name in `fields.ts`. */
export const TEXT_FORMS: Readonly<Record<NonNullable<SessionField['form']>, TextForm>> = {
  hostname: {
    text: (column) => `extract(${column}, '^[^:]+://(.*?)(?::[0-9]+)?$')`,
    of: (origin) => /^[^:]+:\/\/(.*?)(?::[0-9]+)?$/.exec(origin)?.[1] ?? '',
  },
};

/** A text of a session, as text of a statement over rows of sessions. `qualifier` is a table alias with a dot, or nothing. */
export function sessionText({ column, form }: SessionField, qualifier = ''): string {
  const whole = `${qualifier}${column}`;
  return form === undefined ? whole : TEXT_FORMS[form].text(whole);
}

/** A figure: a sum over the states of sessions. States that cancel each other have opposite signs, and add up to 0. */
export interface SessionFigure {
  /** Its name in the rows of statements. */
  readonly name: string;
  /** Its name in rollups, and in parts that a statement adds up. It differs from `name`, because an alias hides a column. */
  readonly part: string;
  /** The amount of a state, as text of a statement over rows of sessions. */
  readonly state: string;
  /** The states that count, as a condition; all when absent. */
  readonly counts?: string;
}

/** The number of sessions, of bounces, and their total duration in milliseconds. */
export const SESSION_FIGURES: readonly SessionFigure[] = [
  { name: 'sessions', part: 'begun', state: 'sign' },
  { name: 'bounces', part: 'bounced', state: 'sign', counts: bounceText() },
  { name: 'durationMs', part: 'lastedMs', state: `sign * ${durationMsText()}` },
];

/** Figures as columns of a statement over states of sessions, named as parts or as in its rows. `condition` limits the states. */
export function sessionSums(
  named: 'part' | 'name',
  condition?: string,
  figures: readonly SessionFigure[] = SESSION_FIGURES,
): string {
  return figures
    .map(({ state, counts, ...names }) => {
      const conditions = [counts, condition].filter((one) => one !== undefined).join(' AND ');
      return `${conditions === '' ? `sum(${state})` : `sumIf(${state}, ${conditions})`} AS ${names[named]}`;
    })
    .join(', ');
}

/** Parts of figures added up, named as in the rows of a statement, or as parts again. */
export function partSums(
  named: 'part' | 'name' = 'name',
  figures: readonly SessionFigure[] = SESSION_FIGURES,
): string {
  return figures.map((figure) => `sum(${figure.part}) AS ${figure[named]}`).join(', ');
}

/** The revenue of events by currency, in minor units of 128 bits, as text of a statement: events without revenue add no currency. */
export const REVENUE_BY_CURRENCY = 'sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0)';

/** The parts as columns of rollups. */
export const SESSION_PARTS: string = SESSION_FIGURES.map(({ part }) => part).join(', ');
/** The parts of a row that is not about sessions. */
export const NO_SESSION_PARTS: string = SESSION_FIGURES.map(({ part }) => `0 AS ${part}`).join(', ');
