import { STATUS_CODES } from 'node:http';
import type { JsonSchema } from '../../query/openapi/json-schema.ts';
import type { RawAnswer } from './connection.ts';
import { type ListedAnswer, type ListedOperation, targetOf } from './operations.ts';
import type { NamedSchemas, SchemaCheck } from './schemas.ts';

/** The rules for answers. */
export interface Law {
  readonly operations: readonly ListedOperation[];
  readonly named: NamedSchemas;
  readonly schemaBreaches: SchemaCheck;
  /** True if clients are limited: only then the limit headers are sent. */
  readonly limited: boolean;
}

const ERROR: ListedAnswer = {
  content: [['application/json', { $ref: '#/components/schemas/Error' }]],
  headers: [],
};
/** Headers of every answer. */
const ALWAYS = [
  ['service-version', /^\d/],
  ['x-content-type-options', /^nosniff$/],
] as const;
/** A missing thing has no version, and the last page has no next one. */
const SOMETIMES: ReadonlySet<string> = new Set(['etag', 'x-next-cursor']);
const STACK = /\bat .{1,200}:\d+:\d+|node_modules|\.[tj]s:\d+|\bError: |DB::Exception/;
const SECRET = /sec_[0-9a-f]{40}|scrypt:|hmac-sha256:/;
const ADDRESS = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/;

/** Returns the error of an answer; undefined if it is right. `path` is as sent, without the query. */
export function breachOf(law: Law, method: string, path: string, answer: RawAnswer): string | undefined {
  if (method === 'HEAD') return headBreach(law, path, answer);
  const target = targetOf(law.operations, method, path);
  const { status } = answer;
  if (target.kind === 'operation') {
    const listed = target.operation.answers.get(status);
    // Stated once for all operations.
    if (status === 431 || isLongHead(answer)) return contentBreach(law, answer, ERROR);
    if (status === 500) return `500: ${answer.body.toString('utf8').slice(0, 200)}`;
    if (listed === undefined) return `${target.operation.id} does not list ${status}: ${shown(answer)}`;
    return contentBreach(law, answer, listed);
  }
  if (target.kind === 'no-path' && status !== 404) return `an unknown path is answered ${status}`;
  if (target.kind === 'no-path') return contentBreach(law, answer, ERROR);
  if (method === 'OPTIONS')
    return status === 204 && answer.body.length === 0 ? undefined : `OPTIONS is answered ${status}`;
  if (status !== 405) return `another method is answered ${status}: ${shown(answer)}`;
  const allowed = (answer.headers.allow ?? '').split(', ');
  if (!target.methods.every((other) => allowed.includes(other))) return `405 allows ${allowed}`;
  return contentBreach(law, answer, ERROR);
}

/** True if the answer reports that a header or the path is too long, which every operation may. */
function isLongHead({ status, body }: RawAnswer): boolean {
  return status === 400 && /"message":"[\w-]+: expected at most \d+ characters"/.test(body.toString('utf8'));
}

/** HEAD is answered as GET, without the body. */
function headBreach(law: Law, path: string, { status, body }: RawAnswer): string | undefined {
  if (body.length > 0) return 'HEAD is answered with a body';
  const target = targetOf(law.operations, 'GET', path);
  if (target.kind === 'no-path') return status === 404 ? undefined : `an unknown path is answered ${status}`;
  if (target.kind === 'other-method') return status === 405 ? undefined : `HEAD is answered ${status}`;
  // Without a body, an overlong head looks the same as any other 400.
  if (status === 400 || status === 431) return undefined;
  if (status !== 500 && target.operation.answers.has(status)) return undefined;
  return `${target.operation.id} does not list ${status}, which HEAD is answered`;
}

function contentBreach(law: Law, answer: RawAnswer, listed: ListedAnswer): string | undefined {
  const { status, headers, body } = answer;
  for (const [name, value] of ALWAYS)
    if (headers[name] === undefined || !value.test(headers[name])) return `${status} has no header ${name}`;
  if (listed.content.length === 0) return body.length === 0 ? undefined : `${status} has a body`;
  const mediaType = headers['content-type']?.split(';')[0] ?? '';
  const content = listed.content.find(([type]) => type === mediaType);
  if (content === undefined) return `${status} is ${mediaType || 'of no type'}: ${shown(answer)}`;
  for (const name of listed.headers) {
    const isWanted = law.limited || !name.startsWith('ratelimit');
    if (isWanted && !SOMETIMES.has(name) && !Object.hasOwn(headers, name))
      return `${status} has no header ${name}`;
  }
  if (mediaType === 'application/x-ndjson') return lineBreach(body);
  if (mediaType !== 'application/json') return body.length > 0 ? undefined : `${status} is empty`;
  const text = utf8Of(body);
  if (text === undefined) return `${status} is not UTF-8`;
  const [value] = parsed(text);
  if (value === undefined) return `${status} is no JSON: ${text.slice(0, 200)}`;
  const breaches = law.schemaBreaches(value, content[1]);
  if (breaches.length > 0) return `${status} breaks its schema: ${breaches.slice(0, 5).join('; ')}`;
  return status >= 400 ? errorBreach(status, value, { text, schema: content[1] as JsonSchema }) : undefined;
}

function lineBreach(body: Buffer): string | undefined {
  const lines = (utf8Of(body) ?? 'not UTF-8\n').split('\n');
  if (lines.pop() !== '') return 'the last line has no end';
  const wrong = lines.find((line) => parsed(line)[0] === undefined);
  return wrong === undefined ? undefined : `a line is no JSON: ${wrong.slice(0, 200)}`;
}

function errorBreach(
  status: number,
  value: unknown,
  { text, schema }: { readonly text: string; readonly schema: JsonSchema },
): string | undefined {
  const error = value as { readonly status?: unknown; readonly error?: unknown; readonly message?: unknown };
  if (schema.$ref?.endsWith('/Error')) {
    if (error.status !== status) return `the body of ${status} says ${error.status}`;
    if (error.error !== STATUS_CODES[status]) return `${status} is called ${error.error}`;
    if (error.message === '') return `${status} says nothing`;
  }
  if (STACK.test(text)) return `${status} shows what only we need: ${text.slice(0, 300)}`;
  if (ADDRESS.test(text)) return `${status} shows an address: ${text.slice(0, 300)}`;
  if (SECRET.test(text)) return `${status} shows a secret: ${text.slice(0, 300)}`;
  return undefined;
}

function utf8Of(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** In a list, since null is JSON too. */
function parsed(text: string): [unknown?] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

function shown({ body }: RawAnswer): string {
  return body.toString('utf8').slice(0, 200);
}
