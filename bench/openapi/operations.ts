import { must } from '../../infra/assert.ts';
import type { OpenApiDocument, OperationObject, ResponseObject } from '../../query/openapi/open-api.ts';

/** The document's entry for a status. */
export interface ListedAnswer {
  /** Media types with the schema of each. */
  readonly content: readonly (readonly [mediaType: string, schema: unknown])[];
  /** Names of headers, in lower case. */
  readonly headers: readonly string[];
}

/** One path and method of the document. */
export interface ListedOperation {
  readonly id: string;
  readonly method: string;
  /** With `{name}` segments. */
  readonly path: string;
  readonly tag: string;
  /** The operation's required proof: a client with its secret, or the cookie of a sign-in; see `security`. */
  readonly access: 'secret' | 'sender' | 'cookie' | 'public';
  readonly parameters: OperationObject['parameters'];
  /** Schema and examples of the body, where there is one. */
  readonly body: { readonly schema: unknown; readonly examples: readonly unknown[] } | undefined;
  readonly answers: ReadonlyMap<number, ListedAnswer>;
}

/** Every operation of the document. */
export function operationsIn(document: OpenApiDocument): readonly ListedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      tag: must(operation.tags[0], 'an operation has a tag'),
      access: accessOf(operation),
      parameters: operation.parameters,
      body: bodyOf(operation),
      answers: new Map(
        Object.entries(operation.responses).map(([status, response]) => [
          Number(status),
          listedAnswer('$ref' in response ? sharedResponse(document, response.$ref) : response),
        ]),
      ),
    })),
  );
}

/** The target of a request: an operation, a path without this method (with its methods), or no path at all. */
export type Target =
  | { readonly kind: 'operation'; readonly operation: ListedOperation }
  | { readonly kind: 'other-method'; readonly methods: readonly string[] }
  | { readonly kind: 'no-path' };

/** The path as sent, not decoded and without the query. A literal segment takes precedence over a named one. */
export function targetOf(operations: readonly ListedOperation[], method: string, path: string): Target {
  const segments = path.split('/');
  const there = operations.filter((operation) => fits(operation.path.split('/'), segments));
  const namedMost = Math.max(...there.map(namedSegments));
  const best = there.filter((operation) => namedSegments(operation) === namedMost);
  const operation = best.find((candidate) => candidate.method === method);
  if (operation !== undefined) return { kind: 'operation', operation };
  if (best.length === 0) return { kind: 'no-path' };
  return { kind: 'other-method', methods: best.map((other) => other.method) };
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => {
      const segment = segments[index] ?? '';
      return part.startsWith('{') ? segment !== '' && segment.endsWith(endingOf(part)) : part === segment;
    })
  );
}

/** The text after the name of a segment: `.json` of `{projectId}.json`. */
function endingOf(part: string): string {
  return part.slice(part.indexOf('}') + 1);
}

/** An ending counts half a segment. */
function namedSegments({ path }: ListedOperation): number {
  const parts = path.split('/');
  const endings = parts.filter((part) => part.startsWith('{') && endingOf(part) !== '');
  return parts.filter((part) => !part.startsWith('{')).length + endings.length / 2;
}

function accessOf({ security }: OperationObject): ListedOperation['access'] {
  // Such as below `/live`: whether a site is public is not said here, so a client is sent.
  if (
    security.some((needed) => Object.hasOwn(needed, 'clientSecret')) &&
    security.at(-1)?.clientId === undefined
  )
    return 'secret';
  // An empty requirement is always met.
  if (security.length === 0 || security.some((needed) => Object.keys(needed).length === 0)) return 'public';
  if (security.length === 1) return security[0]?.signIn === undefined ? 'secret' : 'cookie';
  return 'sender';
}

function bodyOf({ requestBody }: OperationObject): ListedOperation['body'] {
  const media = requestBody?.content['application/json'];
  if (media === undefined) return undefined;
  const several = Object.values(media.examples ?? {}).map(({ value }) => value);
  return { schema: media.schema, examples: media.example === undefined ? several : [media.example] };
}

function sharedResponse(document: OpenApiDocument, reference: string): ResponseObject {
  const name = reference.replace('#/components/responses/', '');
  return must(document.components.responses[name], `the document has no response ${name}`);
}

function listedAnswer({ content = {}, headers = {} }: ResponseObject): ListedAnswer {
  return {
    content: Object.entries(content).map(([mediaType, { schema }]) => [mediaType, schema]),
    headers: Object.keys(headers).map((name) => name.toLowerCase()),
  };
}
