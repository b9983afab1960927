import { SESSION_FIELD_LIST, type SessionField, VISIT_FIELD_LIST } from '../../../../processor/fields.ts';
import type { Operator } from '../../../filters/filter.ts';

/** Fields that filters can be about, and operators, in words. */

export interface FieldWords {
  readonly name: string;
  readonly title: string;
  /** The dimension that lists its values, where there is one. */
  readonly dimension?: string;
}

export const FIELDS: readonly FieldWords[] = [
  { name: 'path', title: 'Page' },
  ...sessionFields((kind) => kind === 'text'),
  ...VISIT_FIELD_LIST.flatMap(([, { title, dimension }]) =>
    dimension === undefined ? [] : [{ name: dimension, title, dimension }],
  ),
  { name: 'name', title: 'Event' },
  { name: 'profile_id', title: 'Profile' },
  ...sessionFields((kind) => kind !== 'text'),
  { name: 'revenue', title: 'Revenue' },
];

/** Facts of sessions are no fields of an event. */
const NOT_OF_EVENTS: ReadonlySet<string> = new Set([
  ...sessionFields(() => true).map(({ name }) => name),
  'revenue',
]);

/** True for a field that events have themselves. */
export function isOfEvents({ name }: Pick<FieldWords, 'name'>): boolean {
  return !NOT_OF_EVENTS.has(name);
}

function sessionFields(isMeant: (kind: SessionField['kind']) => boolean): readonly FieldWords[] {
  return SESSION_FIELD_LIST.filter(([, { kind }]) => isMeant(kind)).map(([fact, { title, dimension }]) =>
    dimension === undefined ? { name: fact, title } : { name: dimension, title, dimension },
  );
}

/** Fields that a shared link may not filter by: a stranger could guess, letter by letter, values that no figure shows. */
const KEPT_BACK: ReadonlySet<string | undefined> = new Set([
  'profile_id',
  ...VISIT_FIELD_LIST.flatMap(([, { dimension, isShared = false }]) => (isShared ? [] : [dimension])),
]);

export function isKeptBack(field: string): boolean {
  return KEPT_BACK.has(field);
}

/** The fields that may be chosen. */
export function fieldsFor(isShared: boolean): readonly FieldWords[] {
  return isShared ? FIELDS.filter(({ name }) => !isKeptBack(name)) : FIELDS;
}

/** Each operator's words between field and values. */
export const OPERATOR_WORDS: Readonly<Record<Operator, string>> = {
  is: 'is',
  isNot: 'is not',
  contains: 'contains',
  doesNotContain: 'does not contain',
  startsWith: 'starts with',
  endsWith: 'ends with',
  regex: 'matches pattern',
  isNull: 'is unknown',
  isNotNull: 'is known',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
};

export const OPERATOR_NAMES = Object.keys(OPERATOR_WORDS).filter(isOperator);

/** The title of a field; a property is its key. */
export function fieldTitle(name: string): string {
  return FIELDS.find((field) => field.name === name)?.title ?? name.replace(/^properties\./, '');
}

/** True if an operator has no values. */
export function isUnary(operator: Operator): boolean {
  return operator === 'isNull' || operator === 'isNotNull';
}

export function isOperator(text: string): text is Operator {
  return Object.hasOwn(OPERATOR_WORDS, text);
}
