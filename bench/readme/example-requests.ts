import type { MediaType, OpenApiDocument, OperationObject } from '../../query/openapi/open-api.ts';

/** A request that the API description shows as an example, as the documentation page would send it. */
export interface ExampleRequest {
  /** Method, path and name of the body's example. */
  readonly name: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body: string | undefined;
  /** The client that the description asks for. */
  readonly client: 'root' | 'read' | 'write' | undefined;
  /** The description says that an id of the example is made up. */
  readonly isMadeUp: boolean;
}

/** The callers by the words of each description; `any` client may send, and a fresh start creates a write client for that. */
const CLIENTS = { root: 'root', read: 'read', any: 'write', none: undefined } as const;

/** Every example request of the document: the deletions last, and of those the site's own at the very end. */
export function exampleRequests({ paths }: OpenApiDocument): readonly ExampleRequest[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => requestsOf(path, method, operation)),
  );
  return all.toSorted((a, b) => lateness(a) - lateness(b));
}

function lateness({ method, target }: ExampleRequest): number {
  if (method !== 'DELETE') return 0;
  return /^\/manage\/projects\/\w+$/.test(target) ? 2 : 1;
}

function requestsOf(path: string, method: string, operation: OperationObject): ExampleRequest[] {
  const who = /\*\*Client:\*\* (root|read|any|none)\b/.exec(operation.description)?.[1];
  if (who === undefined) throw new Error(`${method} ${path} does not say which client may call it`);
  const given = operation.parameters.flatMap((parameter) => {
    const json = parameter.content?.['application/json']?.example;
    const value = json === undefined ? parameter.example : JSON.stringify(json);
    if (value === undefined && parameter.in === 'path') throw new Error(`${path} shows no ${parameter.name}`);
    return value === undefined ? [] : [{ ...parameter, value }];
  });
  const query = new URLSearchParams(
    given
      .filter((parameter) => parameter.in === 'query')
      .flatMap(({ name, value }) => [value].flat().map((one): [string, string] => [name, String(one)])),
  );
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name) =>
    encodeURIComponent(String(given.find((parameter) => parameter.name === name)?.value)),
  );
  const target = query.size === 0 ? filled : `${filled}?${query}`;
  return bodiesOf(operation.requestBody?.content['application/json']).map(([example, body]) => ({
    name: `${method.toUpperCase()} ${path}${example === '' ? '' : ` (${example})`}`,
    method: method.toUpperCase(),
    target,
    body,
    client: CLIENTS[who as keyof typeof CLIENTS],
    isMadeUp: given.some(({ description = '' }) => /\bmade up\b/.test(description)),
  }));
}

/** The examples of a body by name; one without name and body where there is none. */
function bodiesOf(content: MediaType | undefined): [name: string, body: string | undefined][] {
  if (content === undefined) return [['', undefined]];
  const named = Object.entries(content.examples ?? {}).map(([name, { value }]): [string, string] => [
    name,
    JSON.stringify(value),
  ]);
  return content.example === undefined ? named : [['', JSON.stringify(content.example)]];
}
