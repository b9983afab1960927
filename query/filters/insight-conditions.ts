import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import { ENVIRONMENT_COLUMNS, SESSION_END, SESSION_START, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { happenedBetween } from '../../processor/rows.ts';
import { events, hotSessions, sessions } from '../sql/relations.ts';
import type { Span } from '../time/range.ts';
import { type Compiled, compileFilters, EVENT_ROWS, type RowSource, SESSION_ROWS } from './compile.ts';
import type { Conditions } from './conditions.ts';
import type { Filter } from './filter.ts';

/**
 * Divides the filters of an insight by what they apply to.
 *
 * Filters on source and environment (`SOURCE_COLUMNS`, `ENVIRONMENT_COLUMNS`) apply to the session, with the values of
 * its entry, and filters on facts (`SESSION_FIELDS`) to its current state. All other filters apply to the event itself.
 *
 *     country is DE, path is /buy        10:00     10:05     10:10
 *     session A, from DE                 /         /buy      /       one event; the session, with all of its figures
 *     session B, from FR                 /buy                        nothing
 *     an event of no session, from DE              /buy              one event, filtered by its own columns; it has no facts,
 *                                                                    and passes no filter on them, negated or not
 *
 * - Figures of events cover the events in the span passing the event filters and whose session passes the session filters,
 *   whenever that session began.
 * - Figures of sessions cover the sessions begun in the span and passing the session filters. If there are event filters,
 *   the session must have an event in the same span passing them. The synthetic `session_start` and `session_end` do
 *   not count for that; where they are requested as rows, they are filtered like any other event.
 */
export interface InsightConditions extends Conditions {
  /** Parameters of the conditions, to bind in addition to the statement's own. */
  readonly parameters: StoreParameters;
}

/** The spans of a question. */
export interface FilteredSpans {
  readonly span: Span;
  /** The previous span, which is counted separately, if there is one. */
  readonly previous?: Span;
}

const ALWAYS = '1';
const NEVER = '0';
const NO_CONDITIONS: InsightConditions = { parameters: {} };
const ENTRY_COLUMNS: ReadonlySet<string> = new Set([...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS]);
/**
 * A session is touched when its newest event is received, and an event happens at most a minute after it is received
 * (ingest rejects later times). So a session that was not touched since then has no event in the span.
 */
const TOUCHED_LEAD_MS = HOUR_MS;

/** The conditions of `filters` for a statement over `spans`; none without filters. The statement must bind `site`. */
export function insightConditions(filters: readonly Filter[], spans: FilteredSpans): InsightConditions {
  if (filters.length === 0) return NO_CONDITIONS;
  const { event, session } = divided(filters, isAboutSession);
  const sessions = event.isAlways ? session.condition : sessionsCondition(event, session, spans);
  return {
    ...conditionsOnEvents(event, session),
    sessions,
    eventFilter: event.condition,
    passing: session.condition,
    alone: session.hasFacts ? NEVER : `${event.condition} AND (${session.condition})`,
    parameters: { ...event.parameters, ...session.parameters, ...boundsOf(spans) },
  };
}

/**
 * Conditions of `filters` on an insight's events only. The prefix makes their names unique, so one statement can hold several of
 * them. The statement must bind `site`.
 */
export function eventConditions(
  filters: readonly Filter[],
  spans: FilteredSpans,
  bindPrefix: string,
): EventConditions {
  const { event, session } = divided(filters, isAboutSession, bindPrefix);
  return {
    ...conditionsOnEvents(event, session),
    parameters: { ...event.parameters, ...session.parameters, touchedFrom: touchedFrom(spans) },
  };
}

/** Conditions on rows of events in the store and on hot ones, and their parameters. */
export type EventConditions = Required<Pick<InsightConditions, 'events' | 'hotEvents' | 'parameters'>>;

/**
 * The conditions of `filters` on single events, as exports and charts have them: filters on facts apply to the session of
 * the event, all others to the event itself. The statement must bind `site`.
 */
export function exportConditions(filters: readonly Filter[], spans: FilteredSpans): InsightConditions {
  const { event, session } = divided(filters, isAboutFact);
  return {
    ...conditionsOnEvents(event, session),
    parameters: {
      ...event.parameters,
      ...session.parameters,
      ...(session.isAlways ? {} : { touchedFrom: touchedFrom(spans) }),
    },
  };
}

/** Parameters and conditions of a statement about conversions. */
export interface ConvertedConditions {
  /** On sessions, for `$SESSION_FILTER$`: those that pass the filters and have an event of the goal in the same span. */
  readonly sessions: string;
  /** On events, for `$FILTER$` and `$HOT_FILTER$`: those that pass the filters, of sessions with an event of the goal in the span. */
  readonly events: string;
  readonly hotEvents: string;
  readonly parameters: StoreParameters;
}

/**
 * Conditions for sessions and events passing `filters`, whose session also has an event passing `goal`. The two lists
 * are independent: the goal's event need not pass the filters.
 *
 *     path is /pricing, goal: sign_up     10:00       10:05
 *     session A                           /pricing    sign_up     converted
 *     session B                           /           sign_up     not among the sessions of the question
 */
export function convertedConditions(
  filters: readonly Filter[],
  goal: readonly Filter[],
  spans: FilteredSpans,
): ConvertedConditions {
  const own = insightConditions(filters, spans);
  const { event, session } = divided(goal, isAboutSession, 'goal_');
  const { events } = conditionsOnEvents(event, session);
  const inSpan = happenedBetween('heldFrom', 'heldTo');
  const ids = eventsWhere('sessionId', { condition: events, parameters: {} }, inSpan);
  const converted = (condition = ALWAYS) => `(${condition}) AND sessionId IN (${ids})`;
  return {
    sessions: `(${own.sessions ?? ALWAYS}) AND (${sessionsCondition(event, session, spans)})`,
    events: converted(own.events),
    hotEvents: converted(own.hotEvents),
    parameters: { ...own.parameters, ...event.parameters, ...session.parameters, ...boundsOf(spans) },
  };
}

/** The goals that an event and its session pass, as numbers with a bit for each goal. */
export interface GoalBits {
  /** Over a row of events, for `$GOALS$`. */
  readonly goals: string;
  /** Over a row of sessions, for `$SESSION_GOALS$`. */
  readonly sessionGoals: string;
  readonly parameters: StoreParameters;
}

/** The first goal is the lowest bit. At most 64 goals. The statement must bind `site`. */
export function goalBits(goals: readonly (readonly Filter[])[]): GoalBits {
  const parts = goals.map((filters, index) => divided(filters, isAboutSession, `goal${index}_`));
  const bitsOf = (conditions: readonly string[]) =>
    conditions
      .map((condition, index) => `if(${condition}, toUInt64(${2n ** BigInt(index)}), toUInt64(0))`)
      .join(' + ');
  return {
    goals: bitsOf(parts.map(({ event }) => event.condition)),
    sessionGoals: bitsOf(parts.map(({ session }) => session.condition)),
    parameters: Object.assign(
      {},
      ...parts.map(({ event, session }) => ({ ...event.parameters, ...session.parameters })),
    ),
  };
}

/** A condition on events or sessions, compiled from some of the filters. */
interface Part extends Compiled {
  /** There are no such filters. */
  readonly isAlways: boolean;
  readonly hasFacts: boolean;
}

/** `bindPrefix` begins the names of the bound parameters, so one statement can contain two lists of filters. */
function divided(filters: readonly Filter[], belongsToSession: (filter: Filter) => boolean, bindPrefix = '') {
  const aboutSession = filters.filter(belongsToSession);
  const aboutEvent = filters.filter((filter) => !belongsToSession(filter));
  const partOf = (part: readonly Filter[], rows: RowSource): Part => ({
    ...compileFilters(part, { ...rows, bindPrefix: bindPrefix + rows.bindPrefix }),
    isAlways: part.length === 0,
    hasFacts: part.some(isAboutFact),
  });
  return { event: partOf(aboutEvent, EVENT_ROWS), session: partOf(aboutSession, SESSION_ROWS) };
}

function isAboutEntry({ field }: Filter): boolean {
  return field.owner === 'event' && field.kind !== 'property' && ENTRY_COLUMNS.has(field.column);
}

/** True if a filter of an insight applies to sessions instead of single events. */
export function isAboutSession(filter: Filter): boolean {
  return isAboutEntry(filter) || isAboutFact(filter);
}

/** True if all filters test values from the beginning of sessions; also without filters. */
export function areAboutEntries(filters: readonly Filter[]): boolean {
  return filters.every(isAboutEntry);
}

/** True if all filters apply to sessions; also without filters. */
export function areAboutSessions(filters: readonly Filter[]): boolean {
  return filters.every(isAboutSession);
}

/** True if a filter tests the current state of a session. */
export function isAboutFact({ field }: Filter): boolean {
  return field.kind === 'fact';
}

function conditionsOnEvents(event: Part, session: Part): Required<Pick<Conditions, 'events' | 'hotEvents'>> {
  if (session.isAlways) return { events: event.condition, hotEvents: event.condition };
  return { events: eventsCondition(event, session), hotEvents: hotEventsCondition(event, session) };
}

const NO_SESSION = "sessionId = toFixedString('', 16)";

function eventsCondition(event: Compiled, session: Part): string {
  const passing = sessions({
    columns: 'id, sign',
    where: `(${session.condition})`,
    storedWhere: 'touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})',
  });
  return inSession(event, session, `SELECT id FROM ${passing} GROUP BY id HAVING sum(sign) > 0`);
}

/** A hot event changes its session, so the session is hot too. */
function hotEventsCondition(event: Compiled, session: Part): string {
  return inSession(event, session, hotSessions({ columns: 'id', where: session.condition }));
}

function inSession(event: Compiled, session: Part, ids: string): string {
  if (session.hasFacts) return `${event.condition} AND sessionId IN (${ids})`;
  return `${event.condition} AND (${NO_SESSION} AND (${session.condition}) OR sessionId IN (${ids}))`;
}

// A state and the row that cancels it differ only in `sign`. So the condition holds for both or for neither, and sums over `sign`
// cover exactly the current states that pass.
function sessionsCondition(event: Compiled, session: Compiled, { previous }: FilteredSpans): string {
  if (previous === undefined) {
    const ids = eventsWhere('sessionId', event, happenedBetween('heldFrom', 'heldTo'));
    return `${session.condition} AND id IN (${ids})`;
  }
  const inSpans = `(${happenedBetween('heldFrom', 'heldTo')} OR ${happenedBetween('heldPreviousFrom', 'heldPreviousTo')})`;
  const isCurrent = (time: string) => `${time} >= fromUnixTimestamp64Milli({heldFrom:Int64})`;
  const ids = eventsWhere(`${isCurrent('createdAt')}, sessionId`, event, inSpans);
  return `${session.condition} AND (${isCurrent('startedAt')}, id) IN (${ids})`;
}

function eventsWhere(columns: string, { condition }: Compiled, inSpans: string): string {
  const where = `${inSpans} AND name NOT IN {unsent:Array(String)} AND NOT (${NO_SESSION}) AND (${condition})`;
  return `SELECT * FROM ${events({ columns, where })}`;
}

function boundsOf({ span, previous = span }: FilteredSpans): StoreParameters {
  return {
    touchedFrom: touchedFrom({ span, previous }),
    heldFrom: span.fromMs,
    heldTo: span.toMs,
    heldPreviousFrom: previous.fromMs,
    heldPreviousTo: previous.toMs,
    unsent: [SESSION_START, SESSION_END],
  };
}

/** Sessions with events in the spans were touched since this time. */
export function touchedFrom({ span, previous = span }: FilteredSpans): number {
  // Exports without a beginning ask for all of history, which begins before the store's times.
  return Math.max(0, Math.min(span.fromMs, previous.fromMs) - TOUCHED_LEAD_MS);
}
