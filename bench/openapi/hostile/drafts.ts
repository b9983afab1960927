import { array, type JsonNode, textOf } from '../../../ingest/testing/json-text.ts';
import { SeededRandom } from '../../../ingest/testing/random.ts';
import type { JsonSchema } from '../../../query/openapi/json-schema.ts';
import type { ListedOperation } from '../operations.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Draft,
  goodRequest,
  nameOf,
  pairsOf,
  type RequestSources,
} from '../requests.ts';
import { madeValue, nodeOf, oneOf, type ValueSources } from '../values.ts';
import { type HostileValue, hostileValue } from './hostile-values.ts';
import type { HostilePlace, WayStep } from './places.ts';
import { DEPTHS, longText, UNIT_NAMES, UNITS } from './texts.ts';

export const SENDERS = ['none', 'page', 'write', 'read', 'root', 'viewer'] as const;
export type HostileSender = (typeof SENDERS)[number];

/** One hostile request, made again from its seed. */
export interface Probe {
  readonly place: HostilePlace;
  readonly family: string;
  readonly sender: HostileSender;
  readonly seed: number;
}

export interface HostileDraft extends Draft {
  /** Its hostile part, short enough for a report. */
  readonly label: string;
  /** The elements that the service has to read one by one; 1 where it is no batch. */
  readonly items: number;
}

/** Additional sources besides the ones of good requests. */
export interface HostileSources extends Omit<RequestSources, 'random'> {
  /** The header of a browser that opened a shared link. */
  readonly viewToken: string;
}

/** Bytes of a head that a hostile text may take, so that the whole stays below the service's 64 KiB. */
const HEAD_ROOM = 60_000;
const BODY_ROOM = 60_000;
const BATCH_BYTES_MAX = 4_190_000;
const BATCH_ITEMS_MAX = 2_000;
/** Characters that a path segment and a query cannot contain unescaped. */
const PATH_UNSAFE = /[^\w.~!$'()*,:;=@%-]/gu;
const QUERY_UNSAFE = /[^\w.~!$'()*,:;=@/?"[\]{}<>|^`%-]/gu;
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const FIRST_ITEM = '{"type":"track","payload":{"name":"screen_view","properties":{"__path":"/"}}}';

/** The good request that a probe's hostile value goes into. */
export function plainDraft(given: HostileSources, probe: Probe): HostileDraft {
  return Object.assign(goodDraft(given, probe).draft, { label: 'good', items: 1 });
}

/** The request of a probe: a good one, with one hostile value at the probe's place. */
export function hostileDraft(given: HostileSources, probe: Probe): HostileDraft {
  const { place, family, seed } = probe;
  const { operation } = place;
  const { draft, values } = goodDraft(given, probe);
  const { random } = values;
  const done = (label: string, items = 1): HostileDraft => Object.assign(draft, { label, items });
  switch (place.kind) {
    case 'path': {
      const value = hostileValue(random, place, family, HEAD_ROOM);
      const encoded = headEncoded(random, value, PATH_UNSAFE);
      draft.path = operation.path.replace(/{(\w+)}/g, (_, name: string) =>
        name === place.name ? encoded.slice(0, HEAD_ROOM) : encodeURIComponent(draft.names[name] ?? ''),
      );
      return done(value.label);
    }
    case 'header': {
      const value = hostileValue(random, place, family, oneOf(random, [1_000, 8_000, HEAD_ROOM, HEAD_ROOM]));
      draft.headers = draft.headers.filter(([name]) => name !== place.name);
      // The library ends a connection whose headers have control characters.
      const bytes = Buffer.from(value.text.replace(/[\0\n]/g, 'x')).subarray(0, HEAD_ROOM);
      draft.headers.push([place.name, bytes.toString('latin1')]);
      if (place.name === 'access-control-request-headers') draft.method = 'OPTIONS';
      return done(value.label);
    }
    case 'query name':
      return done(addNames(random, place, { draft, family }));
    case 'query': {
      const { name, content } = place.parameter;
      const isJson = place.steps.length > 0 || content !== undefined;
      const encodedIn = (room: number) => {
        const same = new SeededRandom(seed);
        const value = hostileValue(same, place, family, room);
        const filled = isJson
          ? textOf(filledNode(values, undefined, { steps: place.steps, value: value.node }))
          : value.text;
        return { value, text: headEncoded(same, { ...value, text: filled }, QUERY_UNSAFE) };
      };
      const whole = encodedIn(HEAD_ROOM);
      const share = HEAD_ROOM / whole.text.length;
      // Encoding can make a text several times as long, and a text that is cut loses its end.
      const { value, text } = share < 1 ? encodedIn(Math.floor(HEAD_ROOM * share * 0.95)) : whole;
      const others = draft.query.split('&').filter((pair) => pair !== '' && !pair.startsWith(`${name}=`));
      draft.query = [...others, `${name}=${text.slice(0, HEAD_ROOM)}`].join('&');
      return done(value.label);
    }
    case 'whole': {
      const room = oneOf(random, [BODY_ROOM, BODY_ROOM, 1_000_000, BATCH_BYTES_MAX]);
      draft.bytes = wholeBody(random, place, { family, room });
      return done(`${family}, ${draft.bytes.length} bytes`);
    }
    case 'body': {
      const value = hostileValue(random, place, family, BODY_ROOM);
      draft.node = bodyWith(values, place, value.node);
      return done(value.label);
    }
    case 'batch': {
      const value = hostileValue(random, place, family, oneOf(random, [1_500, 1_500, BODY_ROOM]));
      const one = textOf(bodyWith(values, place, value.node));
      const count = Math.min(BATCH_ITEMS_MAX - 1, Math.floor(BATCH_BYTES_MAX / (Buffer.byteLength(one) + 1)));
      draft.bytes = Buffer.from(`[${FIRST_ITEM}${`,${one}`.repeat(count)}]`);
      return done(`${count} items of ${value.label}`, count + 1);
    }
  }
}

function goodDraft(
  given: HostileSources,
  { place: { operation }, sender, seed }: Probe,
): { readonly draft: Draft; readonly values: ValueSources } {
  const random = new SeededRandom(seed);
  const draft = goodRequest({ ...given, random }, operation);
  draft.headers = senderHeaders(given, sender, operation);
  if (draft.node !== undefined) draft.headers.push(['content-type', 'application/json']);
  const values: ValueSources = { random, named: given.named, known: (name) => draft.names[nameOf(name)] };
  draft.query = requiredQuery(values, operation);
  return { draft, values };
}

/** The sender that an operation is for, who gets furthest. */
export function furthestSender(random: SeededRandom, { access, tag }: ListedOperation): HostileSender {
  if (access === 'public' || access === 'cookie') return 'none';
  if (access === 'sender') return random.chance(0.5) ? 'page' : 'write';
  return tag === 'Manage' ? 'root' : 'read';
}

function senderHeaders(
  { cast, viewToken }: HostileSources,
  sender: HostileSender,
  { access }: ListedOperation,
): [string, string][] {
  const agent: [string, string] = ['user-agent', BROWSER];
  const origin: [string, string] = ['origin', 'https://fuzz.example'];
  const client = (secret: string, id: string): [string, string][] => [
    [CLIENT_ID, id],
    [CLIENT_SECRET, secret],
    agent,
  ];
  switch (sender) {
    case 'none':
      return access === 'cookie' ? [['cookie', cast.cookie]] : [];
    case 'page':
      return [[CLIENT_ID, cast.write.id], origin, agent];
    case 'viewer':
      return [['footfall-share', viewToken], agent];
    default:
      return client(cast[sender].secret, cast[sender].id);
  }
}

function requiredQuery(values: ValueSources, { parameters }: ListedOperation): string {
  return parameters
    .filter((one) => one.in === 'query' && (one.required === true || one.name === 'projectId'))
    .flatMap((one) => {
      const example = one.content?.['application/json']?.example;
      return example === undefined ? pairsOf(values, one) : [[one.name, JSON.stringify(example)] as const];
    })
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Encodes characters that a path or query cannot contain. Percent signs of families that are about escapes stay. */
function headEncoded(random: SeededRandom, { text, family }: HostileValue, unsafe: RegExp): string {
  const isRaw = /escapes|percents|broken|mixtures/.test(family) && random.chance(0.7);
  const areSeparators = /pairs|ampersands|names|mixtures/.test(family) && random.chance(0.5);
  const escaped = (isRaw ? text : text.replaceAll('%', '%25')).replace(unsafe, (character) => {
    if (character === ' ') return unsafe === QUERY_UNSAFE ? '+' : '%20';
    if (character === '&' && areSeparators) return '&';
    return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  });
  return escaped;
}

/** Adds pairs with hostile names; returns the kind of names. */
function addNames(
  random: SeededRandom,
  { name }: HostilePlace,
  { draft, family }: { readonly draft: Draft; readonly family: string },
): string {
  const pairs: string[] = draft.query === '' ? [] : [draft.query];
  const labelled = (label: string, text: string) => {
    pairs.push(text);
    draft.query = pairs.join('&').slice(0, HEAD_ROOM);
    return `${label}, ${draft.query.length} characters`;
  };
  switch (family) {
    case 'nested names': {
      const part = oneOf(random, ['[]', '[]', '[a]', '[0]', '[', '.a']);
      const depth = Math.min(
        oneOf(random, [...DEPTHS, 25_000]),
        Math.floor((HEAD_ROOM - 1_000) / part.length),
      );
      return labelled(`${name}${part}… ${depth} deep`, `${name}${part.repeat(depth)}=1`);
    }
    case 'repeated names': {
      const pair = oneOf(random, [`${name}=1`, `${name}[]=1`, `${name}[0]=1`, `${name}[9999999]=1`]);
      const count = oneOf(random, [200, 1_000, Math.floor((HEAD_ROOM - 1_000) / (pair.length + 1))]);
      return labelled(`${pair} ${count} times`, Array.from({ length: count }, () => pair).join('&'));
    }
    case 'many names': {
      const count = oneOf(random, [201, 1_000, 6_000]);
      const names = Array.from({ length: count }, (_, index) => `${name}${index}=`);
      return labelled(`${count} names`, names.join('&'));
    }
    default: {
      const unit = oneOf(random, UNIT_NAMES);
      const text = encodeURIComponent(Buffer.from(longText(UNITS[unit], HEAD_ROOM / 4)).toString());
      return labelled(`${name} and ${unit}`, `${name}${text}=1`);
    }
  }
}

function wholeBody(
  random: SeededRandom,
  place: HostilePlace,
  { family, room }: { readonly family: string; readonly room: number },
): Buffer {
  switch (family) {
    case 'empty arrays':
      return Buffer.from(`[${'[],'.repeat(Math.floor(room / 3) - 2)}[]]`);
    case 'empty objects':
      return Buffer.from(`[${'{},'.repeat(Math.floor(room / 3) - 2)}{}]`);
    case 'escapes':
      return Buffer.from(`"${'\\u0041'.repeat(Math.floor(room / 6) - 2)}"`);
    case 'zeros':
      return Buffer.alloc(room);
    case 'not UTF-8':
      return Buffer.alloc(room, 0xff);
    case 'letters':
    case 'spaces':
      return Buffer.alloc(room, family === 'letters' ? 'a' : ' ');
    default:
      return Buffer.from(textOf(hostileValue(random, place, family, room).node));
  }
}

/** A body of the variant that has the place, by an example where there is one, with the value at the place. */
function bodyWith(
  values: ValueSources,
  { operation, root, steps }: Extract<HostilePlace, { readonly kind: 'body' | 'batch' }>,
  value: JsonNode,
): JsonNode {
  const kind = root.properties?.type?.const;
  const examples = (operation.body?.examples ?? [])
    .flat()
    .filter((one) => kind === undefined || typeOf(one) === kind);
  // One that has the place already has what belongs to it; of the others the first needs the least rights.
  const last = steps.at(-1)?.key;
  const [example] = examples.filter((one) => JSON.stringify(one).includes(`"${last}":`)).concat(examples);
  const base = example === undefined ? nodeOf(madeValue(values, root)) : nodeOf(withKnown(values, example));
  return filledNode(values, withoutKeys(base), { steps, value });
}

function withKnown({ known }: ValueSources, example: unknown): unknown {
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return example;
  return Object.fromEntries(Object.entries(example).map(([name, field]) => [name, known(name) ?? field]));
}

/** Without keys every copy in a batch counts, and without a time or device all are in the sender's session. */
function withoutKeys(node: JsonNode): JsonNode {
  if (node.kind !== 'object') return node;
  const kept = node.members.filter(([key]) => !/^(eventId|__orderId|__deviceId|__timestamp)$/.test(key));
  return { kind: 'object', members: kept.map(([key, value]) => [key, withoutKeys(value)]) };
}

/** `node` with `value` at the end of the steps; missing nodes on the way are made from the schemas of the steps. */
function filledNode(
  values: ValueSources,
  node: JsonNode | undefined,
  { steps, value }: { readonly steps: readonly WayStep[]; readonly value: JsonNode },
): JsonNode {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  const there = node ?? nodeOf(withKnownField(values, madeValue(values, step.of), step.of));
  const next = (inner: JsonNode | undefined) => filledNode(values, inner, { steps: rest, value });
  if (step.key === 0) {
    const [first, ...others] = there.kind === 'array' ? there.elements : [];
    return array([next(first), ...others]);
  }
  const members = there.kind === 'object' ? there.members : [];
  const inner = members.find(([key]) => key === step.key)?.[1];
  const others = members.filter(([key]) => key !== step.key);
  // The inner node must be of the kind that the next step leads into.
  const fits = rest[0] === undefined || inner?.kind === (rest[0].key === 0 ? 'array' : 'object');
  return { kind: 'object', members: [...others, [step.key, next(fits ? inner : undefined)]] };
}

/** A schema takes any text for the field of a filter or breakdown; the service knows some. */
function withKnownField({ random }: ValueSources, made: unknown, { properties = {} }: JsonSchema): unknown {
  if (typeof made !== 'object' || made === null || properties.name === undefined) return made;
  if (properties.operator === undefined) return { ...made, name: oneOf(random, ['path', 'screen_view']) };
  const operator = oneOf(random, ['is', 'contains', 'regex', 'startsWith', 'doesNotContain']);
  return { ...made, name: oneOf(random, ['path', 'country', 'properties.plan']), operator, value: ['a'] };
}

function typeOf(example: unknown): unknown {
  return typeof example === 'object' && example !== null && 'type' in example ? example.type : undefined;
}
