import { HOUR_MS } from '../../infra/durations.ts';
import { addDays, addMonths, type DateText, daysBetween, mondayOf } from './calendar.ts';
import type { AskedFilter } from './filters.ts';
import { byBytes, heldRows, type SiteModel, shown, visitorsOf } from './model.ts';
import { isIn, type Parameters, rangeOf, type Span } from './ranges.ts';
import type { Row } from './rows.ts';

const BREAKDOWN_VALUES_MAX = 10;
const BETWEEN_MAX = 3;
const RETENTION_WEEKS = 12;
const ENGAGEMENT_DAYS_MAX = 366;
const COHORTS_MAX = 60;
const SESSION_COUNTS = [0, 1, 2, 3, 4, 5, 6, 11, 21, 51, 101];

/** A step as it is sent. */
export type AskedStep = string | { readonly name: string; readonly filters?: readonly AskedFilter[] };

/** Fields that a funnel is broken down by here. */
export const FUNNEL_FIELDS = {
  country: ({ event }: Row) => event.country,
  path: ({ event }: Row) => event.path,
  name: ({ event }: Row) => event.name,
} as const;

/** The events of one user in their order, and the positions of the best run. */
interface Journey {
  readonly rows: readonly Row[];
  readonly run: readonly number[];
}

/** The answer of `funnel`. */
export function funnelAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  span: Span,
) {
  const asked = JSON.parse(String(parameters.steps)) as readonly AskedStep[];
  const steps = asked.map((step) => (typeof step === 'string' ? { name: step, filters: [] } : step));
  const possible = steps.map(({ name, filters: own = [] }) => {
    const held = heldRows(model, [...filters, ...own]);
    return new Set(held.filter((row) => (name === '*' ? !row.isSynthetic : row.event.name === name)));
  });
  const windowMs = Number(parameters.windowHours ?? 24) * HOUR_MS;
  const journeys = usersOf(model, parameters.groupBy === 'profile_id', filters, span)
    .map((rows) => ({ rows, run: bestRun(rows, possible, windowMs) }))
    .filter(({ run }) => run.length > 0);
  const names = steps.map(({ name }) => name);
  const figures = reached(journeys, names);
  const read = Object.entries(FUNNEL_FIELDS).find(([field]) => field === parameters.breakdown)?.[1];
  return {
    ...figures,
    steps: figures.steps.map((step, index) => ({
      ...step,
      ...between(journeys, { index, possible, isNamed: parameters.between === 'true' }),
    })),
    ...(read === undefined ? {} : byValue(journeys, names, read)),
  };
}

/** The events of each user, by time and then by id. */
function usersOf(
  model: SiteModel,
  isByVisitor: boolean,
  filters: readonly AskedFilter[],
  span: Span,
): readonly (readonly Row[])[] {
  const users = new Map<string, Row[]>();
  for (const row of heldRows(model, filters)) {
    const user = isByVisitor ? row.visitor : row.event.sessionId;
    if (user === '' || !isIn(span, row.atMs)) continue;
    const rows = users.get(user) ?? [];
    users.set(user, rows);
    rows.push(row);
  }
  return [...users.values()].map((rows) =>
    rows.sort((a, b) => a.atMs - b.atMs || byBytes(a.event.id, b.event.id)),
  );
}

/** From each event that may be step 1, the next event that may be the next step; the longest, and of these the first. */
function bestRun(
  rows: readonly Row[],
  possible: readonly ReadonlySet<Row>[],
  windowMs: number,
): readonly number[] {
  let best: readonly number[] = [];
  for (const [start, first] of rows.entries()) {
    if (possible[0]?.has(first) !== true) continue;
    const run = [start];
    for (const [at, row] of rows.entries()) {
      if (at <= start || row.atMs - first.atMs > windowMs) continue;
      if (possible[run.length]?.has(row) === true) run.push(at);
    }
    if (run.length > best.length) best = run;
  }
  return best;
}

function reached(journeys: readonly Journey[], names: readonly string[]) {
  const users = names.map((_, index) => journeys.filter(({ run }) => run.length > index).length);
  const shareLost = users.map((count, index) => {
    const before = index === 0 ? count : (users[index - 1] ?? 0);
    return before === 0 ? 0 : (before - count) / before;
  });
  const most = Math.max(...shareLost);
  return {
    steps: users.map((count, index) => {
      const before = index === 0 ? count : (users[index - 1] ?? 0);
      return {
        step: index + 1,
        eventName: names[index] ?? '',
        users: count,
        conversionRateFromStart: shown(count * 100, users[0] ?? 0),
        conversionRateFromPrevious: shown(count * 100, before),
        dropoffPercent: shown((before - count) * 100, before),
        isHighestDropoff: most > 0 && shareLost.indexOf(most) === index,
      };
    }),
    totalUsers: users[0] ?? 0,
    completedUsers: users.at(-1) ?? 0,
    overallConversionRate: shown((users.at(-1) ?? 0) * 100, users[0] ?? 0),
  };
}

interface BetweenSteps {
  readonly index: number;
  readonly possible: readonly ReadonlySet<Row>[];
  /** True if the events between the steps are named. */
  readonly isNamed: boolean;
}

function between(journeys: readonly Journey[], { index, possible, isNamed }: BetweenSteps) {
  const arrived = index === 0 ? [] : journeys.filter(({ run }) => run.length > index);
  if (arrived.length === 0) return {};
  const counts = new Map<string, number>();
  const seconds = arrived.map(({ rows, run }) => {
    const [from = 0, to = 0] = [run[index - 1], run[index]];
    for (const row of rows.slice(from + 1, to)) {
      if (row.isSynthetic || possible.some((ofStep) => ofStep.has(row))) continue;
      counts.set(row.event.name, (counts.get(row.event.name) ?? 0) + 1);
    }
    return ((rows[to]?.atMs ?? 0) - (rows[from]?.atMs ?? 0)) / 1000;
  });
  seconds.sort((a, b) => a - b);
  const at = (share: number) => seconds[Math.floor(seconds.length * share)] ?? 0;
  const events = [...counts]
    .sort(([a, countA], [b, countB]) => countB - countA || byBytes(a, b))
    .slice(0, BETWEEN_MAX)
    .map(([name, count]) => ({ name, events: count }));
  return { between: { p50Seconds: at(0.5), p90Seconds: at(0.9), ...(isNamed ? { events } : {}) } };
}

function byValue(journeys: readonly Journey[], names: readonly string[], read: (row: Row) => string) {
  const values = new Map<string, Journey[]>();
  for (const journey of journeys) {
    const first = journey.rows[journey.run[0] ?? 0];
    const value = first === undefined ? '' : read(first);
    values.set(value, [...(values.get(value) ?? []), journey]);
  }
  const rows = [...values].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || byBytes(a, b));
  return {
    breakdown: rows
      .slice(0, BREAKDOWN_VALUES_MAX)
      .map(([value, of]) => ({ value: value === '' ? null : value, ...reached(of, names) })),
    breakdownValues: rows.length,
  };
}

/** The answer of `user_flow`. */
export function flowAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  span: Span,
) {
  const isByPages = parameters.by !== 'events';
  const depth = Number(parameters.depth ?? 4);
  const limit = Number(parameters.limit ?? 8);
  const flows = usersOf(model, false, filters, span)
    .map((rows) => rows.filter(({ isView, isSynthetic }) => (isByPages ? isView : !isSynthetic)))
    .map((rows) => rows.map(({ event }) => (isByPages ? event.path : event.name)))
    .map((values) => values.filter((value, index) => value !== values[index - 1]))
    .map((values) => (parameters.direction === 'backward' ? values.reverse() : values))
    .map((values) => values.slice(parameters.start === undefined ? 0 : startOf(values, parameters.start)))
    .filter((values) => values.length > 0);
  const columns = Array.from({ length: depth + 1 }, (_, column) => columnOf(flows, column, limit));
  const nodes = columns.flat();
  const idOf = (flow: readonly string[], column: number) => {
    const value = flow[column];
    if (value === undefined) return `${column}:exit`;
    return columns[column]?.find((node) => node.value === value)?.id ?? `${column}:other`;
  };
  const links = new Map<string, { readonly source: string; readonly target: string; sessions: number }>();
  for (const flow of flows) {
    for (let column = 1; column <= Math.min(depth, flow.length); column += 1) {
      const [source, target] = [idOf(flow, column - 1), idOf(flow, column)];
      const link = links.get(JSON.stringify([source, target])) ?? { source, target, sessions: 0 };
      links.set(JSON.stringify([source, target]), link);
      link.sessions += 1;
    }
  }
  const placeOf = (id: string) => nodes.findIndex((node) => node.id === id);
  return {
    nodes,
    links: [...links.values()].sort(
      (a, b) => placeOf(a.source) - placeOf(b.source) || placeOf(a.target) - placeOf(b.target),
    ),
    sessions: flows.length,
  };
}

function startOf(values: readonly string[], start: Parameters[string]): number {
  const place = values.indexOf(String(start));
  return place === -1 ? values.length : place;
}

/** The nodes of a column in their order: values, all others, exits. */
function columnOf(flows: readonly (readonly string[])[], column: number, limit: number) {
  const counts = new Map<string, number>();
  for (const { [column]: value } of flows)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  const ranked = [...counts].sort(([a, countA], [b, countB]) => countB - countA || byBytes(a, b));
  const named = ranked.slice(0, limit).map(([value, sessions]) => ({
    ...{ id: `${column}:value:${value}`, column, value, sessions },
    ...{ isOther: false, isExit: false },
  }));
  const others = ranked.slice(limit).reduce((sum, [, count]) => sum + count, 0);
  const exits = column === 0 ? 0 : flows.filter(({ length }) => length === column).length;
  const summed = (kind: 'other' | 'exit', sessions: number) =>
    sessions === 0
      ? []
      : [
          {
            ...{ id: `${column}:${kind}`, column, value: null, sessions },
            ...{ isOther: kind === 'other', isExit: kind === 'exit' },
          },
        ];
  return [...named, ...summed('other', others), ...summed('exit', exits)];
}

/** The answer of `retention`: the whole weeks of the range whose next week is over. */
export function retentionAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  nowMs: number,
) {
  const { calendar } = model;
  const newest = addDays(mondayOf(calendar.dateOf(nowMs)), -7);
  const given = isRange(parameters) ? rangeOf(parameters, calendar, nowMs).span : undefined;
  const first = mondayOf(
    given === undefined ? addDays(newest, -7 * RETENTION_WEEKS) : calendar.dateOf(given.fromMs),
  );
  const visits = counted(model, filters).map((row) => ({
    visitor: row.visitor,
    monday: mondayOf(calendar.dateOf(row.atMs)),
  }));
  const ofWeek = (monday: DateText) =>
    new Set(visits.flatMap((visit) => (visit.monday === monday ? visit.visitor : [])));
  const weeks: DateText[] = [];
  for (let monday = first; addDays(monday, 7) <= newest; monday = addDays(monday, 7)) {
    const week = { fromMs: calendar.beginOf(monday), toMs: calendar.beginOf(addDays(monday, 7)) };
    if (given === undefined || (week.fromMs >= given.fromMs && week.toMs <= given.toMs)) weeks.push(monday);
  }
  return weeks.map((date) => {
    const [active, next] = [ofWeek(date), ofWeek(addDays(date, 7))];
    const retained = [...active].filter((visitor) => next.has(visitor)).length;
    return {
      date,
      active_users: active.size,
      retained_users: retained,
      retention: shown(retained * 100, active.size),
    };
  });
}

type CohortInterval = 'day' | 'week' | 'month';
const COHORTS: Readonly<Record<CohortInterval, number>> = { day: 30, week: 12, month: 12 };

/** The answer of `retention/cohort`; undefined where it would have too many intervals. */
export function cohortAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  nowMs: number,
) {
  const { calendar } = model;
  const interval = (parameters.interval ?? 'week') as CohortInterval;
  const current = beginOf(calendar.dateOf(nowMs), interval);
  const given = isRange(parameters)
    ? rangeOf({ ...parameters, interval: 'day' }, calendar, nowMs).span
    : undefined;
  let begin =
    given === undefined
      ? later(current, interval, 1 - COHORTS[interval])
      : beginOf(calendar.dateOf(given.fromMs), interval);
  const last = given === undefined ? current : beginOf(calendar.dateOf(given.toMs - 1), interval);
  const begins: DateText[] = [];
  for (; begin <= last && begin <= current; begin = later(begin, interval, 1)) begins.push(begin);
  if (begins.length > COHORTS_MAX) return undefined;
  const named = (name: Parameters[string] | undefined) => {
    const rows = heldRows(model, filters).filter(({ visitor }) => visitor !== '');
    const ofName = rows.filter((row) => (name === undefined ? !row.isSynthetic : row.event.name === name));
    return ofName.map(({ visitor, atMs }) => ({ visitor, begin: beginOf(calendar.dateOf(atMs), interval) }));
  };
  const firsts = new Map<string, DateText>();
  for (const { visitor, begin: of } of named(parameters.firstEvent)) {
    const known = firsts.get(visitor);
    if (begins.includes(of) && (known === undefined || of < known)) firsts.set(visitor, of);
  }
  const returns = new Set(named(parameters.event).map(({ visitor, begin: of }) => `${of} ${visitor}`));
  return begins.map((cohort, index) => {
    const members = [...firsts].flatMap(([visitor, of]) => (of === cohort ? visitor : []));
    const values = begins
      .slice(index)
      .map((of) => members.filter((visitor) => returns.has(`${of} ${visitor}`)).length);
    return {
      cohort_interval: cohort,
      sum: members.length,
      values,
      percentages: values.map((value) => shown(value * 100, members.length)),
    };
  });
}

function beginOf(date: DateText, interval: CohortInterval): DateText {
  if (interval === 'day') return date;
  return interval === 'week' ? mondayOf(date) : `${date.slice(0, 7)}-01`;
}

function later(date: DateText, interval: CohortInterval, count: number): DateText {
  if (interval === 'month') return addMonths(date, count);
  return addDays(date, interval === 'week' ? 7 * count : count);
}

/** The answer of `engagement`; undefined where the range is too long. */
export function engagementAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  nowMs: number,
) {
  const { calendar } = model;
  const asked = rangeOf(isRange(parameters) ? parameters : { range: '30d' }, calendar, nowMs).span;
  const tomorrowMs = calendar.beginOf(addDays(calendar.dateOf(nowMs), 1));
  const span = { fromMs: asked.fromMs, toMs: Math.min(asked.toMs, tomorrowMs) };
  const [firstDay, lastDay] = [calendar.dateOf(span.fromMs), calendar.dateOf(span.toMs - 1)];
  const length = daysBetween(firstDay, lastDay) + 1;
  if (length > ENGAGEMENT_DAYS_MAX) return undefined;
  const rows = counted(model, filters).filter(({ atMs }) => isIn(span, atMs));
  const byVisitor = new Map<string, Row[]>();
  for (const row of rows) byVisitor.set(row.visitor, [...(byVisitor.get(row.visitor) ?? []), row]);
  const visitors = [...byVisitor.values()].map((own) => {
    const dates = [...new Set(own.map(({ atMs }) => calendar.dateOf(atMs)))].sort();
    const sessions = new Set(own.map(({ event }) => event.sessionId).filter((id) => id !== ''));
    return {
      recency: daysBetween(dates.at(-1) ?? '', lastDay),
      days: dates.length,
      sessions: sessions.size,
    };
  });
  const numberOf = (passes: (visitor: (typeof visitors)[number]) => boolean) =>
    visitors.filter(passes).length;
  return {
    visitors: visitorsOf(rows),
    recency: Array.from({ length }, (_, days) => ({
      days,
      visitors: numberOf(({ recency }) => recency === days),
    })),
    frequency: Array.from({ length: Math.max(0, ...visitors.map(({ days }) => days)) }, (_, index) => ({
      days_active: index + 1,
      visitors: numberOf(({ days }) => days === index + 1),
    })),
    sessions: SESSION_COUNTS.map((least, index) => {
      const most = (SESSION_COUNTS[index + 1] ?? Number.POSITIVE_INFINITY) - 1;
      return {
        sessions: least,
        sessions_max: Number.isFinite(most) ? most : null,
        visitors: numberOf(({ sessions }) => sessions >= least && sessions <= most),
      };
    }),
  };
}

/** The events that make a visitor. */
function counted(model: SiteModel, filters: readonly AskedFilter[]): readonly Row[] {
  return heldRows(model, filters).filter(({ isSynthetic, visitor }) => !isSynthetic && visitor !== '');
}

function isRange({ range, startDate }: Parameters): boolean {
  return range !== undefined || startDate !== undefined;
}
