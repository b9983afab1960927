import { isNestedDeeper } from '../../infra/http/json-nesting.ts';
import type { FilterJson } from '../filters/filter.ts';
import { RejectError } from '../reject.ts';

/** The forms in which clients send lists, and objects within lists, as text. */

/** One `name=value` of a query string. */
export interface QueryPart {
  /** Unchanged from the request, but decoded: `filters[0][name]`. */
  readonly raw: string;
  /** The name before the brackets: `filters`. */
  readonly name: string;
  /** The contents of the brackets: `0` and `name`; an empty text for `[]`. */
  readonly path: readonly string[];
  readonly value: string;
}

const PARTS_MAX = 1_000;
/** The longest name of a filter in brackets, and some more. */
const NAME_MAX_CHARACTERS = 5_000;
/** The deepest form that means anything: `series[0][filters][0][value]`, which is repeated for several values. */
const BRACKETS_MAX = 4;
/** The fields that are lists of texts; a single value is a list of one. */
const TEXT_LISTS = ['value'] as const satisfies readonly (keyof FilterJson)[];
const NAME_SHOWN_MAX = 100;
const BRACKETED = /^([^[\]]+)((?:\[[^[\]]*\])+)$/;
const INDEX = /^\d*$/;
/** An object with fields, which is a list of one. */
const OBJECT = /^\{\s*"/;

/** The parts of a query string by name, in the order of their first parts. */
export function partsByName(query: string): ReadonlyMap<string, readonly QueryPart[]> {
  const parts = new Map<string, QueryPart[]>();
  rejectTooMany(query);
  for (const [raw, value] of new URLSearchParams(query)) {
    rejectLong(raw);
    const [, name = raw, brackets = ''] = BRACKETED.exec(raw) ?? [];
    const path = [...brackets.matchAll(/\[([^[\]]*)\]/g)].map(([, inner = '']) => inner);
    const part = { raw, name, path, value };
    const before = parts.get(name);
    if (before === undefined) parts.set(name, [part]);
    else before.push(part);
  }
  return parts;
}

/** Counts before anything is built. */
function rejectTooMany(query: string): void {
  let count = 1;
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) {
    count += 1;
    if (count > PARTS_MAX)
      throw new RejectError('invalid', `too many parameters; expected at most ${PARTS_MAX}`);
  }
}

function rejectLong(name: string): void {
  const shown = name.slice(0, NAME_SHOWN_MAX);
  if (name.length > NAME_MAX_CHARACTERS)
    throw new RejectError(
      'invalid',
      `${shown}: expected a name of at most ${NAME_MAX_CHARACTERS} characters`,
    );
  let brackets = 0;
  for (let at = name.indexOf('['); at >= 0; at = name.indexOf('[', at + 1)) brackets += 1;
  if (brackets > BRACKETS_MAX)
    throw new RejectError('invalid', `${shown}: expected at most ${BRACKETS_MAX} pairs of brackets`);
}

/** True if the first brackets, if any, are of a list: `[]` or `[3]`. */
export function isListPart({ path: [first = ''] }: QueryPart): boolean {
  return INDEX.test(first);
}

/** `a=x&a=y`, `a[]=x&a[]=y`, `a[0]=x&a[1]=y` and `a=["x","y"]` as texts. */
export function textsOf(parts: readonly QueryPart[]): string[] {
  return inOrder(parts).flatMap(({ path, value }) => (path.length === 0 && jsonTexts(value)) || [value]);
}

/**
 * The same forms of a list of JSON values, and `a[0][name]=x&a[0][value]=y&a[0][value]=z`, as the text of one JSON array. A name that is
 * repeated is a list in its order.
 */
export function jsonListOf(parts: readonly QueryPart[]): string {
  const [only] = parts;
  if (only !== undefined && parts.length === 1 && only.path.length === 0 && !OBJECT.test(only.value))
    return only.value;
  const list: Branch = new Map();
  for (const { path, value } of inOrder(parts)) grow(list, path.length === 0 ? [''] : path, value);
  return JSON.stringify([...list.values()].flatMap(elementsOf));
}

/** Parts with an index come in the order of their indexes. */
function inOrder(parts: readonly QueryPart[]): readonly QueryPart[] {
  return [...parts].sort((one, other) => Number(one.path[0] ?? 0) - Number(other.path[0] ?? 0));
}

/** The elements of a JSON array of texts and numbers, as texts; undefined for any other text. */
function jsonTexts(text: string): string[] | undefined {
  const value = text.startsWith('[') ? jsonIn(text) : undefined;
  if (!Array.isArray(value)) return undefined;
  return value.every((one) => typeof one === 'string' || typeof one === 'number')
    ? value.map(String)
    : undefined;
}

/** Undefined if the text is no JSON, or is nested too deep. */
export function jsonIn(text: string): unknown {
  if (isNestedDeeper(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Below each step another branch, or the texts of one name. */
type Branch = Map<string, Branch | string[]>;

/** Adds a value below a branch; an empty step is a new element. */
function grow(branch: Branch, [step = '', ...further]: readonly string[], value: string): void {
  const key = step === '' ? `#${branch.size}` : step;
  const before = branch.get(key);
  if (further.length === 0) {
    if (Array.isArray(before)) before.push(value);
    else branch.set(key, [value]);
    return;
  }
  const below = before instanceof Map ? before : new Map();
  branch.set(key, below);
  grow(below, further, value);
}

/** A text that holds a JSON object is that object. */
function elementsOf(grown: Branch | string[]): unknown[] {
  if (grown instanceof Map) return [branchValue(grown)];
  return grown.map((text) => {
    const value = OBJECT.test(text) ? jsonIn(text) : undefined;
    return value === undefined ? text : value;
  });
}

function branchValue(branch: Branch): unknown {
  const isList = [...branch.keys()].every((key) => /^(?:#\d+|\d+)$/.test(key));
  const values = [...branch].map(([key, grown]) => [key, grownValue(key, grown)] as const);
  return isList ? values.map(([, value]) => value) : Object.fromEntries(values);
}

function grownValue(key: string, grown: Branch | string[]): unknown {
  if (grown instanceof Map) return branchValue(grown);
  const isList = grown.length > 1 || TEXT_LISTS.some((name) => name === key);
  return isList ? grown : grown[0];
}
