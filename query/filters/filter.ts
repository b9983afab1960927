import { z } from 'zod';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { isNestedDeeper, NESTING_MAX } from '../../infra/http/json-nesting.ts';
import { RejectError } from '../reject.ts';
import { type Field, factsText, fieldOf, isFlag, isNumeric } from './names.ts';

/** CONTRACT of the parameter `filters`: a JSON array of filters that must all hold. */
export const OPERATORS = [
  'is',
  'isNot',
  'contains',
  'doesNotContain',
  'startsWith',
  'endsWith',
  'regex',
  'isNull',
  'isNotNull',
  'gt',
  'gte',
  'lt',
  'lte',
] as const;
export type Operator = (typeof OPERATORS)[number];

/** The most bytes of a list of filters as JSON. */
export const TEXT_MAX_BYTES = 65_536;
const FILTERS_MAX = 50;
const VALUES_MAX = 1_000;
const VALUE_MAX_BYTES = 4_096;
const NAME_MAX_BYTES = 4_096;
const REGEX_MAX_CHARACTERS = 512;
/** The maximum number of values, over all filters, that the store searches for one by one. */
const PARTS_MAX = 1_000;
/** Each may use some megabytes of memory that the store does not account for. */
const REGEXES_MAX = 20;

/** One filter as it is sent. `id` and `type` are notes of the caller and have no effect. */
export const filterSchema = z.strictObject({
  id: z.string().optional().describe('A note of the caller. Ignored.'),
  name: z
    .string()
    .describe(
      `An event field in snake or camel case, such as \`path\`, \`utm_source\` or \`country\`; or \`properties.<key>\`, \`profile.<field>\`, \`profile.properties.<key>\` or \`group.<field>\`; or a fact of the session: ${factsText()}. A fact is tested on the current state of the session: an event passes if its session does, and an event without a session passes no filter on facts, not even a negative one.`,
    ),
  operator: z
    .enum(OPERATORS)
    .describe(
      '`isNot`, `doesNotContain` and `isNull` are the exact opposites of `is`, `contains` and `isNotNull`. `contains` ignores case. `regex` uses RE2 syntax. `gt`, `gte`, `lt` and `lte` compare decimal numbers and times.',
    ),
  value: z
    .preprocess(checkedValues, z.array(z.union([z.string(), z.number(), z.boolean()])))
    .optional()
    .describe(
      'One of the values must match; for a negative operator, none may. Omit it for `isNull` and `isNotNull`.',
    ),
  type: z.string().optional().describe('A note of the caller. Ignored.'),
});
export type FilterJson = z.output<typeof filterSchema>;

const filtersSchema = boundedList(
  z.array(filterSchema),
  FILTERS_MAX,
  `expected at most ${FILTERS_MAX} filters`,
);

/** Only the first problem of the values: the schema would report each wrong one, in 40 µs. */
function checkedValues(given: unknown, context: z.RefinementCtx): unknown {
  if (!Array.isArray(given)) return given;
  const wrong = given.findIndex((value) => !['string', 'number', 'boolean'].includes(typeof value));
  if (given.length > VALUES_MAX)
    context.addIssue({ code: 'custom', message: `expected at most ${VALUES_MAX} values` });
  else if (wrong >= 0)
    context.addIssue({ code: 'custom', path: [wrong], message: 'expected a string, a number or a boolean' });
  return given;
}

/** Filters as JSON in a body. They stay unchanged; anything that `readFilters` would reject is rejected at the same path. */
export const filterList = filtersSchema.superRefine((given, context) => {
  try {
    filtersOf(given);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    context.addIssue({ code: 'custom', path: [...error.path], message: error.problem });
  }
});

/** The same for stored filters: no longer than a parameter's filters. */
export const storedFilterList = filterList.refine(
  (filters) => Buffer.byteLength(JSON.stringify(filters)) <= TEXT_MAX_BYTES,
  `expected at most ${TEXT_MAX_BYTES} bytes`,
);

/** The test of a field; one of the values must match. */
export type Test =
  /** A non-empty string, or a number. */
  | { readonly kind: 'present' }
  | { readonly kind: 'equal-text'; readonly values: readonly string[] }
  | { readonly kind: 'part'; readonly comparison: PartComparison; readonly values: readonly string[] }
  | { readonly kind: 'equal-number'; readonly values: readonly number[] }
  /** The bound is the loosest of the values, which holds if any does. Times are in milliseconds. */
  | { readonly kind: 'order'; readonly comparison: OrderComparison; readonly bound: number };

export type PartComparison = 'contains' | 'startsWith' | 'endsWith' | 'regex';
export type OrderComparison = 'gt' | 'gte' | 'lt' | 'lte';

/** A filter that can be compiled. */
export interface Filter {
  readonly field: Field;
  readonly test: Test;
  /** True if the filter holds exactly where the test does not. */
  readonly negated: boolean;
}

/** Parses the parameter; throws a `RejectError` with the path of the problem: `filters.0.operator: …`. */
export function readFilters(text: string): Filter[] {
  if (Buffer.byteLength(text) > TEXT_MAX_BYTES) throw invalid([], `expected at most ${TEXT_MAX_BYTES} bytes`);
  const parsed = filtersSchema.safeParse(jsonOf(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalid(issue?.path ?? [], issue?.message ?? 'invalid');
  }
  return filtersOf(parsed.data);
}

/** Checks filters for compilation; throws a `RejectError` like `readFilters`. */
export function filtersOf(given: readonly FilterJson[]): Filter[] {
  const filters = given.map(filterOf);
  rejectTooManyParts(filters);
  return filters;
}

/** Combines several lists of filters; all must hold. Throws a `RejectError` if together they exceed the limits of one list. */
export function combinedFilters(lists: readonly (readonly Filter[])[]): Filter[] {
  const filters = lists.flat();
  const among = 'in all, with those of segments and of the goal';
  if (filters.length > FILTERS_MAX) throw invalid([], `expected at most ${FILTERS_MAX} filters ${among}`);
  const bytes = filters.reduce((sum, filter) => sum + bytesOf(filter), 0);
  if (bytes > TEXT_MAX_BYTES)
    throw invalid([], `expected at most ${TEXT_MAX_BYTES} bytes of values ${among}`);
  rejectTooManyParts(filters);
  return filters;
}

/** True if several lists of filters together are within the limits of one list. */
export function areWithinLimits(lists: readonly (readonly Filter[])[]): boolean {
  try {
    combinedFilters(lists);
    return true;
  } catch (error) {
    if (error instanceof FilterError) return false;
    throw error;
  }
}

/** The bytes that a filter binds. */
function bytesOf({ field, test }: Filter): number {
  const key = field.kind === 'property' ? Buffer.byteLength(field.key) : 0;
  if (test.kind !== 'equal-text' && test.kind !== 'part') return key;
  return test.values.reduce((sum, value) => sum + Buffer.byteLength(value), key);
}

function rejectTooManyParts(filters: readonly Filter[]): void {
  const parts = filters.flatMap(({ test }) => (test.kind === 'part' ? [test] : []));
  if (valuesIn(parts) > PARTS_MAX)
    throw invalid(
      [],
      `expected at most ${PARTS_MAX} values of contains, doesNotContain, startsWith, endsWith and regex`,
    );
  if (valuesIn(parts.filter(({ comparison }) => comparison === 'regex')) > REGEXES_MAX)
    throw invalid([], `expected at most ${REGEXES_MAX} regular expressions`);
}

function valuesIn(tests: readonly { readonly values: readonly string[] }[]): number {
  return tests.reduce((sum, { values }) => sum + values.length, 0);
}

function jsonOf(text: string): unknown {
  if (isNestedDeeper(text)) throw invalid([], `lists and objects are nested deeper than ${NESTING_MAX}`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid([], 'expected a JSON array');
  }
}

function filterOf(given: FilterJson, index: number): Filter {
  const field = Buffer.byteLength(given.name) > NAME_MAX_BYTES ? undefined : fieldOf(given.name);
  if (field === undefined) throw invalid([index, 'name'], `unknown field ${given.name.slice(0, 100)}`);
  const values = (given.value ?? []).map(String);
  if (values.length > VALUES_MAX) throw invalid([index, 'value'], `expected at most ${VALUES_MAX} values`);
  const tooLong = values.findIndex((value) => Buffer.byteLength(value) > VALUE_MAX_BYTES);
  if (tooLong >= 0) throw invalid([index, 'value', tooLong], `expected at most ${VALUE_MAX_BYTES} bytes`);
  return { field, ...conditionOf(given.operator, { field, values, at: [index] }) };
}

/** A filter's field and values, and its path for errors. */
interface FieldValues {
  readonly field: Field;
  readonly values: readonly string[];
  readonly at: Path;
}
type Path = readonly PropertyKey[];

function conditionOf(operator: Operator, given: FieldValues): Omit<Filter, 'field'> {
  if (operator === 'isNull' || operator === 'isNotNull') {
    if (given.values.length > 0) throw invalid([...given.at, 'value'], `${operator} takes no values`);
    return { test: { kind: 'present' }, negated: operator === 'isNull' };
  }
  if (given.values.length === 0) throw invalid([...given.at, 'value'], 'expected at least one value');
  switch (operator) {
    case 'is':
    case 'isNot':
      return { test: equalTest(given), negated: operator === 'isNot' };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { test: orderTest(operator, given), negated: false };
    case 'doesNotContain':
      return { test: partTest('contains', given), negated: true };
    case 'contains':
    case 'startsWith':
    case 'endsWith':
    case 'regex':
      return { test: partTest(operator, given), negated: false };
  }
}

function equalTest(given: FieldValues): Test {
  if (isNumeric(given.field)) return { kind: 'equal-number', values: numbersOf(given) };
  const wrong = isFlag(given.field) ? given.values.findIndex((value) => !FLAGS.includes(value)) : -1;
  if (wrong >= 0) throw invalid([...given.at, 'value', wrong], 'expected true or false');
  return { kind: 'equal-text', values: given.values };
}

function orderTest(comparison: OrderComparison, given: FieldValues): Test {
  rejectFlag(given);
  const numbers = numbersOf(given);
  const isLowest = comparison === 'gt' || comparison === 'gte';
  return { kind: 'order', comparison, bound: isLowest ? Math.min(...numbers) : Math.max(...numbers) };
}

function partTest(comparison: PartComparison, given: FieldValues): Test {
  rejectFlag(given);
  const { field, values, at } = given;
  if (isNumeric(field))
    throw invalid([...at, 'operator'], `expected is, isNot, isNull, isNotNull, gt, gte, lt or lte`);
  for (const [index, value] of values.entries()) {
    if (value === '') throw invalid([...at, 'value', index], 'expected a non-empty string');
    if (comparison === 'regex' && value.length > REGEX_MAX_CHARACTERS)
      throw invalid([...at, 'value', index], `expected at most ${REGEX_MAX_CHARACTERS} characters`);
  }
  return { kind: 'part', comparison, values };
}

const FLAGS = ['true', 'false'];

function rejectFlag({ field, at }: FieldValues): void {
  if (isFlag(field)) throw invalid([...at, 'operator'], 'expected is, isNot, isNull or isNotNull');
}

function numbersOf({ field, values, at }: FieldValues): number[] {
  const isTime = field.kind === 'time';
  return values.map((value, index) => {
    const number = isTime ? timeOf(value) : numberOf(value);
    if (number !== undefined) return number;
    throw invalid(
      [...at, 'value', index],
      isTime ? 'expected an ISO 8601 time with a zone' : 'expected a number',
    );
  });
}

// The same syntax as for texts in the store, see compile.ts. The exponent is short, so every number fits a double.
const NUMBER = /^-?\d{1,100}(?:\.\d{1,100})?(?:[eE][+-]?\d{1,2})?$/;
// The store has millisecond precision.
const TIME = z.iso.datetime({ offset: true }).regex(/T[\d:]+(?:\.\d{1,3})?(?:Z|[+-][\d:]+)$/);

function numberOf(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

function timeOf(text: string): number | undefined {
  return TIME.safeParse(text).success ? Date.parse(text) : undefined;
}

/** An invalid filter, with its path below `filters`. */
class FilterError extends RejectError {
  readonly path: Path;
  readonly problem: string;

  constructor(path: Path, problem: string) {
    super('invalid', `${['filters', ...path].map(String).join('.')}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }
}

function invalid(path: Path, problem: string): FilterError {
  return new FilterError(path, problem);
}
