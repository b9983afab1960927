import { array, type JsonNode, object, plain, raw } from '../../../ingest/testing/json-text.ts';
import type { SeededRandom } from '../../../ingest/testing/random.ts';
import { oneOf } from '../values.ts';
import type { HostilePlace } from './places.ts';
import {
  DEPTHS,
  longText,
  NEST_NAMES,
  NUMBERS,
  nestedText,
  PLAIN_WRAP,
  PROTOTYPE_KEYS,
  UNIT_NAMES,
  UNITS,
  type UnitName,
  WRAPS,
} from './texts.ts';

/** A value that no client should send, as text and as JSON. */
export interface HostileValue {
  /** Groups values that are alike: one finding of a family at a place is enough. */
  readonly family: string;
  readonly label: string;
  readonly text: string;
  readonly node: JsonNode;
}

/** The families of values that a place can take. */
export function familiesOf({ kind, schema }: HostilePlace): readonly string[] {
  if (kind === 'query name') return ['names', 'nested names', 'repeated names', 'many names'];
  if (kind === 'whole') return [...WHOLES, ...NEST_NAMES.map((nest) => `nested ${nest}`)];
  const texts: readonly string[] = [...UNIT_NAMES, 'mixtures'];
  if (kind === 'header' || kind === 'path') return texts;
  const nests = NEST_NAMES.map((nest) => `nested ${nest}`);
  const { type } = schema;
  const types = type === undefined ? ['string', 'number'] : typeof type === 'string' ? [type] : type;
  const isText = types.includes('string') || (kind === 'query' && type === undefined);
  return [
    ...(isText ? texts : ['letters', 'spaces', 'backslashes']),
    ...nests,
    ...(types.some((one) => one === 'number' || one === 'integer' || one === 'string') ? ['numbers'] : []),
    ...(types.includes('array') ? ['many elements'] : []),
    ...(types.includes('object')
      ? ['many keys', 'long keys', 'dotted keys', 'prototype keys of objects']
      : []),
  ];
}

const WHOLES = [
  'empty arrays',
  'empty objects',
  'escapes',
  'letters',
  'spaces',
  'not UTF-8',
  'many keys',
  'zeros',
];

/** One value of a family, at or beyond the limit of the place. `room` is the most bytes that the request has for it. */
export function hostileValue(
  random: SeededRandom,
  place: HostilePlace,
  family: string,
  room: number,
): HostileValue {
  const { schema } = place;
  const as = (label: string, text: string, node: JsonNode = plain(text)): HostileValue => ({
    ...{ family, label: `${label}, ${text.length} characters`, text, node },
  });
  if (family.startsWith('nested ') && family !== 'nested names') {
    const nest = oneOf(
      random,
      NEST_NAMES.filter((name) => `nested ${name}` === family),
    );
    const depth = place.kind === 'whole' ? room : oneOf(random, DEPTHS);
    const text = nestedText(nest, depth, room);
    return as(`${family}, ${depth} deep`, text, raw(text));
  }
  switch (family) {
    case 'numbers': {
      const bounds = [schema.minimum, schema.maximum, schema.exclusiveMinimum, schema.exclusiveMaximum];
      const near = bounds.flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1]));
      const text = oneOf(random, [...near.map(String), ...NUMBERS]);
      return as(text.slice(0, 30), text, raw(text));
    }
    case 'many elements': {
      const [one, written] = oneOf(random, ELEMENTS);
      const most = Math.floor(room / (written.length + 1));
      const count = Math.min(
        most,
        oneOf(random, [schema.maxItems ?? 1_000, 2 * (schema.maxItems ?? 1_000), most]),
      );
      const text = `[${Array.from({ length: count }, () => written).join(',')}]`;
      return as(`${count} elements ${written}`, text, array(Array.from({ length: count }, () => one)));
    }
    case 'many keys': {
      const count = oneOf(random, [256, 257, 2_000, Math.floor(room / 12)]);
      return keyed(
        as,
        `${count} keys`,
        Math.min(count, Math.floor(room / 12)),
        (index) => `k${index.toString(36)}`,
      );
    }
    case 'long keys': {
      const unit = oneOf(random, UNIT_NAMES);
      const length = oneOf(random, [200, 4_096, Math.floor(room / 2)]);
      return keyed(as, `a key of ${unit}`, 1, () => longText(UNITS[unit], length, WRAPS[PLAIN_WRAP]));
    }
    case 'dotted keys':
      return keyed(as, 'a dotted key', 1, () =>
        longText(UNITS.labels, oneOf(random, [100, 4_000, Math.floor(room / 2)])),
      );
    case 'prototype keys of objects':
      return keyed(
        as,
        'keys of the prototype',
        PROTOTYPE_KEYS.length,
        (index) => PROTOTYPE_KEYS[index] ?? '',
      );
    default:
      return textValue(random, place, { as, units: unitsOf(random, family), room });
  }
}

/** A mixture is of a few units, whose boundaries no single unit has. */
function unitsOf(random: SeededRandom, family: string): readonly UnitName[] {
  if (family !== 'mixtures') return [family as UnitName];
  return Array.from({ length: random.integer(2, 3) }, () => oneOf(random, UNIT_NAMES));
}

type As = (label: string, text: string, node?: JsonNode) => HostileValue;

const ELEMENTS: readonly (readonly [JsonNode, string])[] = [
  [plain('a'), '"a"'],
  [plain(''), '""'],
  [array([]), '[]'],
  [object({}), '{}'],
  [plain(1), '1'],
  [plain(null), 'null'],
];

function keyed(as: As, label: string, count: number, keyOf: (index: number) => string): HostileValue {
  const members = Array.from({ length: count }, (_, index): [string, JsonNode] => [keyOf(index), plain('v')]);
  const text = `{${members.map(([key]) => `${JSON.stringify(key)}:"v"`).join(',')}}`;
  return as(label, text, { kind: 'object', members });
}

/** At the limit, at twice the limit, and as long as a request can be; the last most often. */
function textValue(
  random: SeededRandom,
  { schema, kind }: HostilePlace,
  { as, units, room }: { readonly as: As; readonly units: readonly UnitName[]; readonly room: number },
): HostileValue {
  const { maxLength = oneOf(random, [500, 4_000]) } = schema;
  const length = Math.min(room, oneOf(random, [maxLength, 2 * maxLength, room, room]));
  const wrap = random.chance(0.4) ? (WRAPS[PLAIN_WRAP] as readonly string[]) : oneOf(random, WRAPS);
  // A trailing space of a header is no part of its value.
  const end = kind === 'header' && wrap[1] === '' ? 'x' : (wrap[1] ?? '');
  const unit = units.map((name) => UNITS[name]).join('');
  const text = longText(unit, length, [wrap[0] ?? '', end]);
  return as(`${units.join(' and ')} as ${wrap[0]}…${end}`, text);
}
