import { type JsonNode, nested, object, plain, raw, textOf } from './json-text.ts';
import type { SeededRandom } from './random.ts';

/** Mutates one object or array somewhere in the tree, in place. */
export function changeSomething(random: SeededRandom, root: JsonNode): void {
  const chosen = random.one(containersOf(root));
  if (chosen.kind === 'object') changeObject(random, chosen);
  else changeArray(random, chosen);
}

type Container = Exclude<JsonNode, { kind: 'raw' }>;

/** The root and every object and array below it. */
function containersOf(root: JsonNode): [Container, ...Container[]] {
  const found: [Container, ...Container[]] = [root.kind === 'raw' ? { kind: 'array', elements: [] } : root];
  for (const container of found) {
    const inner =
      container.kind === 'array' ? container.elements : container.members.map(([, value]) => value);
    for (const node of inner) if (node.kind !== 'raw') found.push(node);
  }
  return found;
}

function changeObject(random: SeededRandom, { members }: Extract<JsonNode, { kind: 'object' }>): void {
  const at = random.below(members.length + 1);
  const [key, value] = members[at] ?? [random.one(ODD_KEYS), oddValue(random)];
  switch (random.below(7)) {
    case 0:
      members.splice(at, 1);
      break;
    case 1:
      // The last of two equal keys counts, so that the odd one counts half the time.
      members.splice(at, 0, [key, oddValue(random)]);
      break;
    case 2:
      members.push([key, oddValue(random)]);
      break;
    case 3:
      members.splice(at, 1, [random.one(ODD_KEYS), value]);
      break;
    case 4:
      members.splice(at, 1, [key, nested(value, random.one([1, 31, 32, 33, 100]), random.one(BRACKETS))]);
      break;
    case 5:
      members.splice(at, 1, [key, key === 'type' ? plain(random.one(ODD_TYPES)) : oddValue(random)]);
      break;
    default:
      members.splice(at, 1, [key, oddValue(random)]);
  }
}

function changeArray(random: SeededRandom, { elements }: Extract<JsonNode, { kind: 'array' }>): void {
  const at = random.below(elements.length + 1);
  const element = elements[at] ?? oddValue(random);
  // A long list of long elements would exceed the size that the server accepts.
  const isShort = textOf(element).length < 50;
  if (random.chance(0.3)) elements.splice(at, 1);
  else if (random.chance(0.1) && isShort)
    elements.push(...Array.from({ length: random.one([255, 256, 257]) }, () => element));
  else if (random.chance(0.5)) elements.splice(at, 1, oddValue(random));
  else elements.splice(at, 0, oddValue(random));
}

function oddValue(random: SeededRandom): JsonNode {
  if (random.chance(0.04))
    return plain(random.one(['x', 'é']).repeat(random.one([65, 81, 201, 257, 2049, 4097])));
  if (random.chance(0.02)) return manyKeys(random.integer(255, 258));
  if (random.chance(0.05))
    return nested(plain(1), random.one([31, 32, 33, 100, 2_000]), random.one(BRACKETS));
  return raw(random.one(random.chance(0.04) ? NO_VALUES : ODD_VALUES));
}

function manyKeys(count: number): JsonNode {
  return object(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, plain(index)])));
}

const BRACKETS = ['object', 'array'] as const;
const ODD_TYPES = words(
  'track identify increment decrement group assign_group alias Track replay __proto__',
  ['', ' track'],
);
const ODD_KEYS = words(
  '__proto__ constructor toString hasOwnProperty . a.b __amount __revenue __currency __orderId __refund __timestamp ' +
    '__deviceId __ip __path type payload properties profileId alias groups groupIds value name eventId id',
  ['', '\0', '\ud800', 'x'.repeat(201)],
);
const ODD_VALUES = words(
  'null true false [] {} "" "revenue" "session_end" "track" "id-1" [null,[],{}] {"toJSON":1} ' +
    '{"__proto__":{"polluted":1}} {"constructor":{"prototype":{"polluted":1}}} ' +
    '0 -0 -1 0.1 1.005 1e2 5e-324 1e21 1e39 1e40 1e999 -1e999 9007199254740991 9007199254740993 ' +
    '123456789012345678901234567890 90071992547409.92 0.00000000000000000000000000000000001 ' +
    '"19.99" "1e3" "-1" "0x10" "٣" "NaN" "Infinity" "EUR" "XXX" "uſd" "2023-02-30T00:00:00Z" ' +
    String.raw`"\u0000" "\ud800" "\udc00\ud83d" "\ud83d\ude00" "a\u002eb"`,
  ['" "', '"1 "'],
);

// Not JSON.
const NO_VALUES = words(String.raw`NaN Infinity undefined 01 .5 1. 'a' 1, /**/1 "\x41" "\u12"`, ['"\n"', '']);

function words(spaced: string, others: readonly string[]): readonly [string, ...string[]] {
  const [first = '', ...rest] = spaced.split(' ');
  return [first, ...rest, ...others];
}

/** The text as bytes, nearly always in UTF-8. */
export function encoded(random: SeededRandom, json: string): Buffer {
  if (random.chance(0.97)) return Buffer.from(json);
  const encoding = random.one(['utf16le', 'latin1', 'bom', 'spaces'] as const);
  if (encoding === 'bom') return Buffer.from(`\ufeff${json}`);
  if (encoding === 'spaces') return Buffer.from(`\r\n\t ${json} \n`);
  return Buffer.from(json, encoding);
}

/** Flips, removes, inserts or truncates bytes. */
export function damaged(random: SeededRandom, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const put = () => Buffer.from(random.one(ODD_BYTES), 'latin1');
  switch (random.below(4)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << random.below(8)), at);
      return flipped;
    }
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.integer(1, 8))]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), put(), bytes.subarray(at)]);
    default:
      return bytes.subarray(0, at);
  }
}

// Truncated, overlong and impossible UTF-8, an encoded surrogate, NUL, and characters with a meaning in JSON.
const ODD_BYTES = words(
  '\xc3 \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xff\xfe \x80 \0 \x01 \x7f " \\ { } [ ] , : \\u \\ud800',
  [' ', '\n'],
);

/** A body that is not composed of parts. */
export function oddBody(random: SeededRandom): Buffer {
  if (random.chance(0.3))
    return Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
  if (random.chance(0.5)) return Buffer.from(random.one(ODD_BODIES), 'latin1');
  const deep = nested(plain(1), random.favourite([33, 500, 3_000, 20_000]), random.one(BRACKETS));
  const inProperties = object({ name: plain('a'), properties: object({ deep }) });
  return Buffer.from(
    random.one([
      textOf(deep),
      textOf(deep).slice(0, -3),
      textOf(object({ type: plain('track'), payload: inProperties })),
    ]),
  );
}

const ODD_BODIES = words(
  'null true 0 "track" [] [[]] {} { [ " \0 \xef\xbb\xbf [null] [{},{}] {"type":"track"} {"type":"track","payload":[]}',
  ['', ' '],
);
