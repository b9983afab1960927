import type { JsonSchema } from '../../../query/openapi/json-schema.ts';
import type { ParameterObject } from '../../../query/openapi/open-api.ts';
import type { ListedOperation } from '../operations.ts';
import { type NamedSchemas, referred } from '../schemas.ts';

/** One step into a JSON value: a key, or 0 for the first element; `of` is the schema of the value inside. */
export interface WayStep {
  readonly key: string | 0;
  readonly of: JsonSchema;
}

/** The place of a hostile value in a request. `name` is shown, and places with the same name and kind are alike. */
export type HostilePlace = {
  readonly operation: ListedOperation;
  readonly name: string;
  readonly schema: JsonSchema;
} & (
  | { readonly kind: 'path' | 'header' | 'query name' }
  /** `steps` lead into a parameter that is JSON. */
  | { readonly kind: 'query'; readonly parameter: ParameterObject; readonly steps: readonly WayStep[] }
  /** `root` is the variant of the body that has the place; `batch` repeats it as the elements of the body. */
  | {
      readonly kind: 'body' | 'batch';
      readonly root: JsonSchema;
      readonly steps: readonly WayStep[];
    }
  /** Instead of a body. */
  | { readonly kind: 'whole' }
);

/** Headers that infrastructure reads besides the parameters of the document. */
const HEADERS = [
  'origin',
  'referer',
  'user-agent',
  'x-forwarded-for',
  'forwarded',
  'x-forwarded-proto',
  'cookie',
  'authorization',
  'accept',
  'accept-encoding',
  'accept-language',
  'range',
  'if-none-match',
  'if-match',
  'if-modified-since',
  'idempotency-key',
  'content-type',
  'service-client-id',
  'service-client-secret',
  'service-client-ip',
  'openpanel-client-id',
  'openpanel-sdk-name',
  'sec-ch-ua',
  'sec-ch-ua-platform',
  'sec-fetch-site',
  'footfall-share',
  'access-control-request-headers',
  'x-request-id',
  'upgrade',
  'sec-websocket-protocol',
  'x-made-up',
] as const;
const DEPTH_MAX = 7;

/** Every place of an operation that a sender fills. */
export function placesOf(operation: ListedOperation, named: NamedSchemas): readonly HostilePlace[] {
  const { parameters, path, body } = operation;
  const inQuery = parameters.filter(({ in: place }) => place === 'query');
  const own = parameters.filter(({ in: place }) => place === 'header').map(({ name }) => name.toLowerCase());
  const places: HostilePlace[] = [...path.matchAll(/{(\w+)}/g)].map(([, name = '']) => ({
    ...{ operation, kind: 'path', name, schema: TEXT },
  }));
  for (const name of new Set([...HEADERS, ...own]))
    places.push({ operation, kind: 'header', name, schema: TEXT });
  for (const parameter of inQuery) {
    const { name } = parameter;
    places.push({ operation, kind: 'query name', name, schema: TEXT });
    const schema = parameter.content?.['application/json']?.schema;
    const leaves = schema === undefined ? [] : leavesOf(schema, named);
    places.push({ operation, kind: 'query', name, parameter, steps: [], schema: parameter.schema ?? TEXT });
    for (const { steps, schema: leaf } of leaves)
      places.push({ operation, kind: 'query', name: nameOf(name, steps), parameter, steps, schema: leaf });
  }
  places.push({ operation, kind: 'query name', name: 'unknown', schema: TEXT });
  if (body === undefined) return places;
  places.push({ operation, kind: 'whole', name: 'body', schema: {} });
  const schema = resolved(body.schema as JsonSchema, named);
  const isBatch = schema.type === 'array' && schema.items !== undefined;
  for (const root of variantsOf(isBatch ? (schema.items ?? {}) : schema, named))
    for (const { steps, schema: leaf } of leavesOf(root, named)) {
      const name = nameOf(String(root.properties?.type?.const ?? 'body'), steps);
      places.push({ operation, kind: isBatch ? 'batch' : 'body', name, root, steps, schema: leaf });
    }
  return places;
}

const TEXT: JsonSchema = { type: 'string' };

interface Leaf {
  readonly steps: readonly WayStep[];
  readonly schema: JsonSchema;
}

/** The value itself and everything inside it, each with the way to it. */
function leavesOf(schema: JsonSchema, named: NamedSchemas, steps: readonly WayStep[] = []): readonly Leaf[] {
  if (steps.length > DEPTH_MAX) return [];
  return variantsOf(schema, named).flatMap((variant) => {
    const { properties = {}, items, additionalProperties } = variant;
    const inner = Object.entries(properties).filter(([, field]) => field.const === undefined);
    const free: [string, JsonSchema][] =
      additionalProperties === true || typeof additionalProperties === 'object'
        ? [['free', additionalProperties === true ? TEXT : additionalProperties]]
        : [];
    const below = [...inner, ...free].flatMap(([key, field]) =>
      leavesOf(field, named, [...steps, { key, of: variant }]),
    );
    const first = items === undefined ? [] : leavesOf(items, named, [...steps, { key: 0, of: variant }]);
    return [{ steps, schema: variant }, ...below, ...first];
  });
}

/** The schemas of which a value fits one, without references and without null. */
export function variantsOf(schema: JsonSchema, named: NamedSchemas): readonly JsonSchema[] {
  const whole = resolved(schema, named);
  const choices = whole.anyOf ?? whole.oneOf;
  if (choices === undefined) return whole.type === 'null' ? [] : [whole];
  return choices.flatMap((choice) => variantsOf(choice, named));
}

function resolved(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  return schema.$ref === undefined ? schema : resolved(referred(schema.$ref, named) as JsonSchema, named);
}

function nameOf(root: string, steps: readonly WayStep[]): string {
  return [root, ...steps.map(({ key }) => key)].join('.');
}
