import type { StoreParameters } from '../../infra/store/store.ts';
import { amountText } from '../../processor/event-export.ts';
import { SESSION_FIELDS, type SessionFact } from '../../processor/fields.ts';
import { bounceText, durationMsText, sessionText } from '../../processor/figures.ts';
import type { Filter, Test } from './filter.ts';
import { type Field, isNumeric, type Owner, type RowField } from './names.ts';

/**
 * Compiles filters to a condition on the rows of one table.
 *
 * A field of a row is a list of strings or numbers: a column has one value, `groups` its elements, a profile field the value in its
 * record, a group field the value in the record of each group, a fact its value in a row of sessions. Without a value, it is one
 * empty string, or no number. A test holds if one of these values matches one of the filter's values; a negated filter holds if the
 * test does not.
 *
 *     is, startsWith, endsWith   exact                gt, gte, lt, lte   text that is not a number never matches
 *     contains                   ignores case         regex              RE2, anywhere in the text, `.` matches newlines
 *
 * Values and keys are bound, and columns come from `names.ts`: no text of a request becomes SQL.
 */
export interface Compiled {
  /** For `$FILTER$`; `1` without filters. */
  readonly condition: string;
  readonly parameters: StoreParameters;
}

/** The rows that a condition applies to. */
export interface RowSource {
  /** The prefix of columns in the statement: a table alias with a dot, or nothing. */
  readonly qualifier: string;
  /** The prefix of bound names, so one statement can contain two conditions. */
  readonly bindPrefix: string;
}

/** Rows of events in their own SELECT. */
export const EVENT_ROWS: RowSource = { qualifier: '', bindPrefix: '' };

/**
 * Rows with the source and environment columns of a session, in their own SELECT: sessions, and also events. Only
 * sessions have facts.
 */
export const SESSION_ROWS: RowSource = { qualifier: '', bindPrefix: 'session_' };

/** The condition that all filters hold. The statement must bind `site`. */
export function compileFilters(filters: readonly Filter[], row: RowSource): Compiled {
  const parameters: Record<string, unknown> = {};
  const conditions = filters.map((filter, index) => {
    const bind: Bind = (name, type, value) => {
      const bound = `${row.bindPrefix}${name}${index}`;
      parameters[bound] = value;
      return `{${bound}:${type}}`;
    };
    const holds = fieldCondition(filter, row, bind);
    return filter.negated ? `NOT (${holds})` : `(${holds})`;
  });
  return { condition: conditions.length === 0 ? '1' : conditions.join(' AND '), parameters };
}

/**
 * Binds a value and returns its placeholder. `name` must not end in a digit, because the number of the filter follows.
 */
type Bind = (name: string, type: string, value: unknown) => string;

/** The condition that a test holds for the given SQL expression. */
type Fits = (value: string) => string;

function fieldCondition({ field, test }: Filter, { qualifier }: RowSource, bind: Bind): string {
  const fits = fitsOf(field, test, bind);
  if (field.kind === 'fact') return fits(factText(field.fact, qualifier));
  const key = field.kind === 'property' ? bind('key', 'String', field.key) : '';
  if (field.owner === 'event') return someOf(field, { qualifier, key, fits });
  const found = recordsWhere(field.owner, someOf(field, { qualifier: '', key, fits }));
  const condition = memberText(field.owner, qualifier, found);
  if (!mayFitNothing(field, test)) return condition;
  // An unknown profile or group has empty fields.
  const known = memberText(field.owner, qualifier, recordsWhere(field.owner, '1'));
  return `${condition} OR ${fits("''")} AND NOT ${known}`;
}

/** True if an event's profile, or any of its groups, is among these ids. */
function memberText(owner: Owner, qualifier: string, ids: string): string {
  if (owner === 'profile') return `(${qualifier}profileId IN (${ids}))`;
  return `arrayExists(element -> element IN (${ids}), ${qualifier}groups)`;
}

/** The ids of the site's profiles or groups whose current record meets a condition. */
function recordsWhere(owner: Owner, condition: string): string {
  const table = owner === 'profile' ? 'profiles' : 'groups';
  return `SELECT id FROM ${table} FINAL WHERE projectId = {site:String} AND (${condition})`;
}

/** True if one of the field's values in a row matches. */
function someOf(
  field: RowField,
  { qualifier, key, fits }: { readonly qualifier: string; readonly key: string; readonly fits: Fits },
): string {
  switch (field.kind) {
    case 'property':
      return fits(`${qualifier}properties[${key}]`);
    case 'text':
      return fits(qualifier + field.column);
    case 'id':
      // Written once for all values, because the size of a statement is limited.
      return `arrayExists(element -> ${fits('element')}, [${idText(qualifier + field.column)}])`;
    case 'time':
      return fits(`toUnixTimestamp64Milli(${qualifier}${field.column})`);
    case 'coordinate':
      return fits(coordinateText(qualifier, field.column));
    case 'amount':
      return fits(amountText(`${qualifier}revenue`, `${qualifier}currency`));
    case 'list': {
      const list = qualifier + field.column;
      return `arrayExists(element -> ${fits('element')}, if(empty(${list}), [''], ${list}))`;
    }
  }
}

/** The value of a fact in a row of sessions. */
function factText(fact: SessionFact, qualifier: string): string {
  switch (fact) {
    case 'isBounce':
      return `if(${bounceText(`${qualifier}screenViews`)}, 'true', 'false')`;
    case 'duration':
      return `(${durationMsText(qualifier)} / 1000)`;
    case 'screenViews':
      return `toFloat64(${qualifier}screenViews)`;
    default:
      return sessionText(SESSION_FIELDS[fact], qualifier);
  }
}

/** The 32 hexadecimal digits of an id; 16 zero bytes mean no id. */
export function idText(column: string): string {
  return `if(${column} = toFixedString('', 16), '', lower(hex(${column})))`;
}

/** The coordinate of a row in degrees; null at 0, 0, which means unknown. */
export function coordinateText(qualifier: string, column: string): string {
  return `if(${qualifier}longitude = 0 AND ${qualifier}latitude = 0, NULL, ${qualifier}${column})`;
}

/** True if an empty string may match. Numeric fields without a number never match. */
function mayFitNothing(field: Field, test: Test): boolean {
  if (isNumeric(field)) return false;
  if (test.kind === 'equal-text') return test.values.includes('');
  return test.kind === 'part' && test.comparison === 'regex';
}

const ORDERS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
// The same number syntax as in filter.ts.
const NUMBER = "'^-?[0-9]{1,100}([.][0-9]{1,100})?([eE][+-]?[0-9]{1,2})?$'";

/** The number in a text; null if it is not a number. */
export function numberText(text: string): string {
  return `toFloat64OrNull(if(match(${text}, ${NUMBER}), ${text}, ''))`;
}

function fitsOf(field: Field, test: Test, bind: Bind): Fits {
  switch (test.kind) {
    case 'present':
      return isNumeric(field) ? (value) => `isNotNull(${value})` : (value) => `(${value} != '')`;
    case 'equal-text': {
      const values = bind('values', 'Array(String)', test.values);
      return (value) => `(${value} IN ${values})`;
    }
    case 'part':
      return partFits(test, bind);
    case 'equal-number': {
      const numbers = bind('numbers', `Array(${numberType(field)})`, test.values.map(heldBy(field)));
      return (value) => `has(${numbers}, ${value})`;
    }
    case 'order': {
      const bound = bind('bound', numberType(field), heldBy(field)(test.bound));
      const order = ORDERS[test.comparison];
      if (isNumeric(field)) return (value) => `ifNull(${value} ${order} ${bound}, 0)`;
      return (value) => `ifNull(${numberText(value)} ${order} ${bound}, 0)`;
    }
  }
}

/** The store searches for literal substrings fastest, but the parse time and size of a statement are limited. */
const PARTS_WRITTEN_MAX = 8;

function partFits({ comparison, values }: Extract<Test, { kind: 'part' }>, bind: Bind): Fits {
  const one = {
    contains: (text: string, part: string) => `positionCaseInsensitiveUTF8(${text}, ${part}) > 0`,
    startsWith: (text: string, part: string) => `startsWith(${text}, ${part})`,
    endsWith: (text: string, part: string) => `endsWith(${text}, ${part})`,
    // The second call is constant and evaluated before any row, so that an invalid pattern is always rejected.
    regex: (text: string, part: string) => `match(${text}, ${part}) AND match('', ${part}) < 2`,
  }[comparison];
  if (comparison !== 'regex' && values.length > PARTS_WRITTEN_MAX) {
    const parts = bind('parts', 'Array(String)', values);
    return (value) => `arrayExists(part -> ${one(value, 'part')}, ${parts})`;
  }
  const bound = values.map((value, index) => bind(`part${index}_`, 'String', value));
  return (value) => `(${bound.map((part) => one(value, part)).join(' OR ')})`;
}

function numberType({ kind }: Field): string {
  return kind === 'time' ? 'Int64' : 'Float64';
}

/** Rounds a number as the store does for this field. */
function heldBy({ kind }: Field): (value: number) => number {
  return kind === 'coordinate' ? Math.fround : (value) => value;
}
