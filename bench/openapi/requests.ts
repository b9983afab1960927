import { type JsonNode, textOf } from '../../ingest/testing/json-text.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import type { JsonSchema } from '../../query/openapi/json-schema.ts';
import type { ParameterObject } from '../../query/openapi/open-api.ts';
import type { Credential } from '../cluster/client.ts';
import { changesNamed, type KnownThings, lastName, type Names } from './known.ts';
import type { ListedOperation } from './operations.ts';
import type { NamedSchemas } from './schemas.ts';
import { madeValue, nodeOf, oneOf, type ValueSources } from './values.ts';

/** Clients of every kind. */
export interface Cast {
  readonly root: Credential;
  /** The client of the site that is asked about. */
  readonly write: Credential;
  readonly read: Credential;
  /** The cookie of a browser that signed in. */
  readonly cookie: string;
  /** The root client of another team. */
  readonly foreign: Credential;
  /** Clients that only appear with wrong secrets, because a client that fails often is limited. */
  readonly decoys: readonly Credential[];
}

/** The sources of requests. */
export interface RequestSources {
  readonly random: SeededRandom;
  readonly named: NamedSchemas;
  readonly known: KnownThings;
  readonly cast: Cast;
  /** The site of the questions, which never changes. */
  readonly site: string;
}

/** A request under construction. Texts are written as they are, one byte a character. */
export interface Draft {
  readonly operation: ListedOperation;
  /** The values in the path, before encoding. */
  readonly names: Names;
  method: string;
  path: string;
  /** The query parameters. */
  query: string;
  headers: [name: string, value: string][];
  /** The body while it is JSON; `bytes` takes precedence. */
  node: JsonNode | undefined;
  bytes: Buffer | undefined;
  /** True if the request names a client that may look like a guesser; such a request is sent from another address. */
  isStray: boolean;
}

export const CLIENT_ID = 'service-client-id';
export const CLIENT_SECRET = 'service-client-secret';

/** A schema cannot yield filters and breakdowns: it declares a field's name as any text. */
const FILTERED = [
  'path',
  'country',
  'utm_source',
  'name',
  'properties.plan',
  'profile.email',
  'group.name',
] as const;

/** The operators that compare numbers. */
const ORDERS: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);

/** Encodings that clients accept; the judge reads the decoded body. */
const ENCODINGS = ['gzip', 'br', 'gzip, deflate, br', '*', 'identity'] as const;

/** A request that should succeed, as far as a document says. */
export function goodRequest(sources: RequestSources, operation: ListedOperation): Draft {
  const { random, known, site, cast } = sources;
  const keepsTo = random.chance(isQuestion(operation) ? 0.7 : 0.3) && known.keptOne(random, operation);
  const thing = keepsTo ? undefined : known.one(random, operation);
  // The things that all questions use are never deleted.
  const projectId = operation.method === 'DELETE' ? (known.oneSite(random) ?? 'nobody') : site;
  // A client that signs in has to be able to read.
  const asked = operation.access === 'public' ? cast.read : cast.write;
  const names = namesOf(operation, thing?.names ?? (keepsTo || known.keptOne(random, operation)), {
    projectId,
    clientId: asked.id,
    clientSecret: asked.secret,
    // Users have addresses of their own.
    email: `person-${random.below(1_000_000)}@shop.example`,
  });
  const values: ValueSources = { random, named: sources.named, known: (name) => names[nameOf(name)] };
  const headers = credentialHeaders(sources, operation);
  const body = bodyOf(values, operation);
  if (body !== undefined) headers.push(['content-type', 'application/json']);
  if (hasHeader(operation, 'If-Match') && thing !== undefined && thing.etag !== '' && random.chance(0.3))
    headers.push(['if-match', thing.etag]);
  if (random.chance(0.25)) headers.push(['accept-encoding', oneOf(random, ENCODINGS)]);
  return {
    operation,
    names,
    method: operation.method,
    path: operation.path.replace(/{(\w+)}/g, (_, name: string) => encodeURIComponent(names[name] ?? '')),
    query: queryOf(values, operation),
    headers,
    node: body === undefined ? undefined : nodeOf(body),
    bytes: undefined,
    isStray: false,
  };
}

/** The whole request as it is sent. */
export function bytesOf(draft: Draft, host: string): Buffer {
  const body = payloadOf(draft);
  const target = draft.path + (draft.query === '' ? '' : `?${draft.query}`);
  const headers: [string, string][] = [['host', host], ...draft.headers];
  if (body !== undefined) headers.push(['content-length', String(body.length)]);
  const head = `${draft.method} ${target} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}

/** The same request as a shell command. */
export function curlOf(draft: Draft, url: string): string {
  const body = payloadOf(draft);
  const target = url + draft.path + (draft.query === '' ? '' : `?${draft.query}`);
  const headers = draft.headers.map(
    ([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
  );
  const parts = ['curl -i -g --path-as-is -X', quoted(draft.method), ...headers, quoted(target)];
  if (body === undefined) return parts.join(' ');
  return `echo ${body.toString('base64')} | base64 -d | ${parts.join(' ')} --data-binary @-`;
}

function payloadOf({ bytes, node }: Draft): Buffer | undefined {
  return bytes ?? (node === undefined ? undefined : Buffer.from(textOf(node)));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function isQuestion({ tag }: ListedOperation): boolean {
  return tag === 'Insights' || tag === 'Export';
}

function hasHeader({ parameters }: ListedOperation, wanted: string): boolean {
  return parameters.some(({ name, in: place }) => place === 'header' && name === wanted);
}

/** The values in the path, with `others` for names that are not found. */
function namesOf(operation: ListedOperation, found: Names | undefined, others: Names): Names {
  const { path } = operation;
  const names: Record<string, string> = { ...others, ...found };
  // Even where no other thing exists, things that must stay are not changed.
  if (found === undefined && changesNamed(operation)) names[lastName(path)] = 'nobody';
  for (const [, name = ''] of path.matchAll(/{(\w+)}/g)) names[name] ??= 'nobody';
  return names;
}

/** The name that a field's value has in a path. */
export function nameOf(field: string): string {
  return field.replace(/_i/, 'I');
}

function credentialHeaders({ random, cast }: RequestSources, operation: ListedOperation): [string, string][] {
  if (operation.access === 'public') return [];
  if (operation.access === 'cookie') return [['cookie', cast.cookie]];
  const asRoot = operation.tag === 'Manage' || operation.tag === 'Export' || random.chance(0.5);
  const { id, secret } = operation.access === 'sender' ? cast.write : asRoot ? cast.root : cast.read;
  if (operation.access === 'sender' && random.chance(0.2))
    return [
      [CLIENT_ID, id],
      ['origin', 'https://fuzz.example'],
      [
        'user-agent',
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
      ],
    ];
  return [
    [CLIENT_ID, id],
    [CLIENT_SECRET, secret],
  ];
}

/** From an unchanged example, from the schema only, or from both. */
function bodyOf(values: ValueSources, { body }: ListedOperation): unknown {
  if (body === undefined) return undefined;
  const { random } = values;
  const example = body.examples.length === 0 ? undefined : oneOf(random, body.examples);
  const made = () => madeValue(values, body.schema as JsonSchema);
  if (example === undefined || random.chance(0.4)) return made();
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return example;
  const whole: Record<string, unknown> = { ...example };
  for (const name of Object.keys(whole)) whole[name] = values.known(name) ?? whole[name];
  if ('type' in whole && 'payload' in whole) return whole;
  const other = made();
  for (const [name, value] of Object.entries(typeof other === 'object' && other !== null ? other : {}))
    if (random.chance(0.25)) whole[name] = value;
  return whole;
}

function queryOf(values: ValueSources, { parameters }: ListedOperation): string {
  const { random } = values;
  const inQuery = parameters.filter(({ in: place }) => place === 'query');
  const asExample = random.chance(0.5);
  const chosen = inQuery.filter((parameter) => {
    if (parameter.required === true || parameter.name === 'projectId') return true;
    return asExample ? parameter.example !== undefined : isFree(parameter) && random.chance(0.35);
  });
  const pairs = chosen.flatMap((parameter) => pairsOf(values, parameter));
  return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

/** A list in one of the forms that clients send. */
function listPairs({ random }: ValueSources, name: string, texts: readonly string[]): [string, string][] {
  switch (random.below(4)) {
    case 0:
      return texts.map((text) => [`${name}[]`, text]);
    case 1:
      return texts.map((text, index) => [`${name}[${index}]`, text]);
    case 2:
      return [[name, JSON.stringify(texts)]];
    default:
      return texts.map((text) => [name, text]);
  }
}

/** True if a parameter makes sense without others: dates need one another, and a text can be anything. */
function isFree({ schema, content }: ParameterObject): boolean {
  return (
    content !== undefined ||
    (schema?.type !== 'string' && schema?.anyOf === undefined) ||
    schema?.enum !== undefined
  );
}

/** A parameter of a query by an example or its schema, one pair for each element that is sent by itself. */
export function pairsOf(
  values: ValueSources,
  { name, schema, content, example }: ParameterObject,
): [string, string][] {
  const { random } = values;
  const known = values.known(name);
  if (known !== undefined) return [[name, known]];
  if (content !== undefined) {
    const { schema: inner = {}, example: given } = content['application/json'] ?? {};
    const isGiven = given !== undefined && random.chance(0.4);
    const value = isGiven ? given : withFields(values, name, madeValue(values, inner));
    // Elements one by one, except for an empty list, which has none.
    if (Array.isArray(value) && value.length > 0 && random.chance(0.3))
      return value.map((one, index) => [`${name}[${index}]`, JSON.stringify(one)]);
    return [[name, JSON.stringify(value)]];
  }
  // A schema does not say which texts are dates; an example does.
  const isTaken = example !== undefined && random.chance(schema?.type === 'string' ? 0.95 : 0.7);
  const value = isTaken ? example : madeValue(values, schema ?? {});
  return Array.isArray(value)
    ? listPairs(
        values,
        name,
        value.map((one) => wellFormed(String(one))),
      )
    : [[name, wellFormed(String(value))]];
}

/** Replaces the field names in generated filters, breakdowns, series or steps by existing ones. */
function withFields(values: ValueSources, name: string, made: unknown): unknown {
  if (!Array.isArray(made)) return made;
  return made.map((one: unknown) => {
    if (typeof one !== 'object' || one === null) return one;
    if ('filters' in one) return { ...one, filters: withFields(values, 'filters', one.filters) };
    if (name !== 'filters' && name !== 'breakdowns') return one;
    const named = { ...one, name: oneOf(values.random, FILTERED) };
    if (!('operator' in named)) return named;
    return { ...named, value: ORDERS.has(String(named.operator)) ? [7] : ['/', 'a'] };
  });
}

function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8');
}
