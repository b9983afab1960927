import { addDecimals, decimalOf } from '../../infra/money.ts';
import {
  bytesOfTexts,
  ENTITY_TEXT_MAX_BYTES,
  ENTITY_PROPERTIES_MAX as PROPERTIES_MAX,
} from '../../ingest/entity-size.ts';

/**
 * Properties of an entity: a tree of texts, stored flat as alternating dotted keys and values, in the order in which the keys came. It is a
 * tree because no key is above another one: setting `a` removes everything below `a.`, and setting `a.b` removes the text at `a`.
 */
export type PropertyList = readonly string[];

/** Longest number that a step may lead to, in characters. */
export const NUMBER_MAX = 64;

export interface MergedProperties {
  /** The given list itself if nothing differs. */
  readonly properties: PropertyList;
  /** Some properties were ignored. */
  readonly isOverCap: boolean;
}

/** Sets the given properties one after the other; the others stay. */
export function mergeProperties(known: PropertyList, given: PropertyList): MergedProperties {
  const values = new Map<string, string>();
  for (let index = 0; index < known.length; index += 2)
    values.set(known[index] ?? '', known[index + 1] ?? '');
  let inner: Set<string> | undefined;
  let bytes = bytesOfTexts(known);
  let isOther = false;
  let isOverCap = false;
  for (let index = 0; index < given.length; index += 2) {
    const key = given[index] ?? '';
    const value = given[index + 1] ?? '';
    const before = values.get(key);
    if (before === value) continue;
    const more = Buffer.byteLength(value) - Buffer.byteLength(before ?? '');
    const added = before === undefined ? more + Buffer.byteLength(key) : more;
    // Keys above or below a new key make room for it. They are searched only without room.
    const room = ENTITY_TEXT_MAX_BYTES - bytes - added;
    if (added > 0 && room < 0 && (before !== undefined || room + bytesAround(values, key) < 0)) {
      isOverCap = true;
      continue;
    }
    if (before === undefined) {
      // Only for a new key: in a tree, nothing is above or below a known one.
      inner ??= innerKeys(values.keys());
      const keysBefore = values.size;
      if (!makeRoom(values, inner, key)) {
        isOverCap = true;
        continue;
      }
      if (values.size < keysBefore) bytes = bytesOfTexts(values.keys()) + bytesOfTexts(values.values());
    }
    values.set(key, value);
    bytes += added;
    isOther = true;
  }
  return { properties: isOther ? flatOf(values) : known, isOverCap };
}

/** The bytes of the properties that lie above or below a key. */
function bytesAround(values: ReadonlyMap<string, string>, key: string): number {
  let bytes = 0;
  for (const [other, value] of values)
    if (other.startsWith(`${key}.`) || key.startsWith(`${other}.`)) bytes += bytesOfTexts([other, value]);
  return bytes;
}

function flatOf(values: ReadonlyMap<string, string>): PropertyList {
  const flat: string[] = [];
  for (const [key, value] of values) flat.push(key, value);
  return flat;
}

/** The keys that others are below. */
function innerKeys(keys: Iterable<string>): Set<string> {
  const inner = new Set<string>();
  for (const key of keys) addAbove(inner, key);
  return inner;
}

function addAbove(inner: Set<string>, key: string): void {
  for (let dot = key.indexOf('.'); dot !== -1; dot = key.indexOf('.', dot + 1)) inner.add(key.slice(0, dot));
}

/**
 * Removes the keys above or below a new key; false when there is nothing to remove and no room for one more. `inner` may hold too many
 * keys: removed keys stay in it, which costs a look.
 */
function makeRoom(values: Map<string, string>, inner: Set<string>, key: string): boolean {
  const before = values.size;
  for (let dot = key.indexOf('.'); dot !== -1; dot = key.indexOf('.', dot + 1))
    values.delete(key.slice(0, dot));
  if (inner.delete(key)) {
    for (const other of values.keys()) if (other.startsWith(`${key}.`)) values.delete(other);
  }
  if (values.size === before && before >= PROPERTIES_MAX) return false;
  addAbove(inner, key);
  return true;
}

export type SteppedProperties =
  | { readonly kind: 'stepped'; readonly properties: PropertyList }
  | { readonly kind: 'not-a-number' }
  | { readonly kind: 'over-cap' };

/**
 * Adds `step` to the number at `property`, exactly; an absent one starts from 0. A number is a text that JSON would
 * read as a number; a place in the tree that holds other properties, or is below a text, is none.
 */
export function stepProperty(
  known: PropertyList,
  { property, step }: { readonly property: string; readonly step: string },
): SteppedProperties {
  const below = `${property}.`;
  let at = -1;
  for (let index = 0; index < known.length; index += 2) {
    const key = known[index] ?? '';
    if (key === property) at = index;
    else if (key.startsWith(below) || property.startsWith(`${key}.`)) return { kind: 'not-a-number' };
  }
  const before = at === -1 ? '0' : numberIn(known[at + 1] ?? '');
  if (before === undefined || step.length > NUMBER_MAX) return { kind: 'not-a-number' };
  const after = addDecimals(before, step);
  if (after.length > NUMBER_MAX) return { kind: 'not-a-number' };
  const more = after.length - (at === -1 ? -Buffer.byteLength(property) : (known[at + 1] ?? '').length);
  if (more > 0 && bytesOfTexts(known) + more > ENTITY_TEXT_MAX_BYTES) return { kind: 'over-cap' };
  if (at !== -1) return { kind: 'stepped', properties: known.with(at + 1, after) };
  if (known.length >= 2 * PROPERTIES_MAX) return { kind: 'over-cap' };
  return { kind: 'stepped', properties: [...known, property, after] };
}

function numberIn(text: string): string | undefined {
  return text.length <= NUMBER_MAX ? decimalOf(text) : undefined;
}

/** Columns to select to read properties back: a JSON object would lose keys such as `__proto__`. */
export const PROPERTIES_SELECT =
  'mapKeys(properties) AS propertyKeys, mapValues(properties) AS propertyValues';

/** Properties from their keys and values in the same order. */
export function propertiesOf(keys: readonly string[], values: readonly string[]): PropertyList {
  return keys.flatMap((key, index) => [key, values[index] ?? '']);
}
