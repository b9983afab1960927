import type { OperationObject, ParameterObject } from './open-api.ts';

/** One request as a line for a shell, in which `$URL`, `$ID` and `$SECRET` stand for the service and the client. */
export function curlOf(path: string, method: string, operation: OperationObject): string {
  const { parameters, requestBody, security } = operation;
  const body = bodyOf(requestBody?.content['application/json']);
  const query = parameters.filter((parameter) => parameter.in === 'query').flatMap(pairsOf);
  const target = `"$URL${filledIn(path, parameters)}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
  const isOpen = security.length === 0;
  return [
    `curl ${method === 'get' || (method === 'post' && body !== undefined) ? '' : `-X ${method.toUpperCase()} `}${target}`,
    ...(isOpen ? [] : ['-H "service-client-id: $ID"', '-H "service-client-secret: $SECRET"']),
    ...(body === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${quoted(JSON.stringify(body))}'`]),
  ].join(' \\\n  ');
}

/** The one example of a body, or the first of several. */
export function bodyOf(
  media:
    | {
        readonly example?: unknown;
        readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
      }
    | undefined,
): unknown {
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
}

function filledIn(path: string, parameters: readonly ParameterObject[]): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const example = parameters.find(
      (parameter) => parameter.in === 'path' && parameter.name === name,
    )?.example;
    return example === undefined ? `{${name}}` : encodeURIComponent(String(example));
  });
}

function pairsOf({ name, example, content }: ParameterObject): string[] {
  const json = content?.['application/json']?.example;
  if (json !== undefined) return [`${name}=${encodeURIComponent(JSON.stringify(json))}`];
  if (example === undefined) return [];
  const values: readonly unknown[] = Array.isArray(example) ? example : [example];
  return values.map((value) => `${name}=${encodeURIComponent(String(value))}`);
}

/** Text within single quotes of a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", "'\\''");
}
