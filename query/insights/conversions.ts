import type { StoredId } from '../../infra/accounts/ids.ts';
import { SCREEN_VIEW } from '../../ingest/event.ts';
import { type Goal, goalNamed } from '../definitions/definitions.ts';
import { ratio, twoDecimals } from '../figures.ts';
import type { Filter } from '../filters/filter.ts';
import { convertedConditions } from '../filters/insight-conditions.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Range, Span } from '../time/range.ts';

/**
 * Conversions: sessions of a question that have an event of a goal in its range. The question's own statements stay
 * unchanged, with rollups and caches. Conversions are counted beside them, over the same seam, for the rows of the
 * answer.
 */

/** The sessions that reached a goal, and their visitors. */
export interface Conversions {
  readonly conversions: number;
  readonly visitors: number;
}

const NO_CONVERSIONS: Conversions = { conversions: 0, visitors: 0 };

/** The figures of conversions in an answer. */
export interface ConversionFigures {
  readonly conversions: number;
  readonly converted_visitors: number;
  readonly conversion_rate: number;
  readonly conversion_value: number;
}

/** @param sessions the base of the rate in percent */
export function conversionFiguresOf(
  { record }: Goal,
  sessions: number,
  { conversions, visitors } = NO_CONVERSIONS,
): ConversionFigures {
  return {
    conversions,
    converted_visitors: visitors,
    conversion_rate: ratio(conversions * 100, sessions),
    conversion_value: twoDecimals((record.value ?? 0) * conversions),
  };
}

interface GoalQuestion {
  readonly goal?: string | undefined;
  readonly filters: readonly Filter[];
}

/**
 * The goal that a question names.
 * @throws {RejectError} if the site has no goal with this id or name
 */
export function askedGoal({ goal, filters }: GoalQuestion, { definitions }: QuestionScope): Goal | undefined {
  return goalNamed(goal, filters, definitions);
}

/** The sessions that may convert, and their site. */
interface ConvertingSite {
  readonly projectId: StoredId;
  readonly filters: readonly Filter[];
}

/** Conversions of a range, of the range before it, and by start of bucket. */
export interface RangeConversions {
  readonly current: Conversions;
  readonly previous: Conversions;
  readonly byEdge: ReadonlyMap<number, Conversions>;
}

export async function askRangeConversions(
  history: StatementRunner,
  { projectId, filters }: ConvertingSite,
  goal: Goal,
  range: Range,
  seam: Seam,
): Promise<RangeConversions> {
  const { span, previous, buckets } = range;
  const { parameters, ...texts } = convertedConditions(filters, goal.filters, range);
  const bound = {
    ...parameters,
    site: projectId,
    from: span.fromMs,
    to: span.toMs,
    previousFrom: previous.fromMs,
    previousTo: previous.toMs,
    edges: [previous.fromMs, ...buckets.map(({ fromMs }) => fromMs)],
  };
  const rows = await history.ask({ name: 'metrics-conversions', parameters: bound, texts }, seam);
  const total = (isCurrent: number) =>
    rows.find((row) => row.isTotal === 1 && row.isCurrent === isCurrent) ?? NO_CONVERSIONS;
  const inBuckets = rows.filter(({ isTotal, isCurrent }) => isTotal === 0 && isCurrent === 1);
  return {
    current: total(1),
    previous: total(0),
    byEdge: new Map(inBuckets.map((row) => [row.edge, row])),
  };
}

/** The name of a row in an answer: a value and its parent, or a path and its origin. */
export interface RowName {
  readonly prefix: string;
  readonly name: string;
}

/** The rows of an answer whose conversions are requested. */
interface RowsQuestion extends ConvertingSite {
  readonly span: Span;
  readonly rows: readonly RowName[];
}

/** The conversions of a row; undefined for none. */
export type ConversionsOf = (row: RowName) => Conversions | undefined;

/** The conversions of sessions that began in a span, by the columns `prefix` and `name`. */
export async function askRowConversions(
  history: StatementRunner,
  columns: string,
  { projectId, filters, span, rows }: RowsQuestion,
  goal: Goal,
  seam: Seam,
): Promise<ConversionsOf> {
  const { parameters, ...texts } = convertedConditions(filters, goal.filters, { span });
  const bound = { ...parameters, ...rowParameters(projectId, span, rows) };
  const statement: Statement<'conversions'> = {
    name: 'conversions',
    parameters: bound,
    texts: { ...texts, columns },
  };
  return rows.length === 0 ? () => undefined : byName(await history.ask(statement, seam));
}

/** The conversions of sessions that viewed a page in a span. */
export async function askPageConversions(
  history: StatementRunner,
  { projectId, filters, span, rows }: RowsQuestion,
  goal: Goal,
  seam: Seam,
): Promise<ConversionsOf> {
  const { parameters, events, hotEvents } = convertedConditions(filters, goal.filters, { span });
  const bound = { ...parameters, ...rowParameters(projectId, span, rows), screenView: SCREEN_VIEW };
  const statement: Statement<'page-conversions'> = {
    name: 'page-conversions',
    parameters: bound,
    texts: { events, hotEvents },
  };
  return rows.length === 0 ? () => undefined : byName(await history.ask(statement, seam));
}

type NamedConversions = AnswerRow<'conversions'>;

function rowParameters(projectId: StoredId, { fromMs, toMs }: Span, rows: readonly RowName[]) {
  return {
    site: projectId,
    from: fromMs,
    to: toMs,
    prefixes: rows.map(({ prefix }) => prefix),
    names: rows.map(({ name }) => name),
  };
}

function byName(found: readonly NamedConversions[]): ConversionsOf {
  const keyOf = ({ prefix, name }: RowName) => JSON.stringify([prefix, name]);
  const rows = new Map(found.map((row) => [keyOf(row), row]));
  return (row) => rows.get(keyOf(row));
}
