import { z } from 'zod';
import { breakdownList, seriesList } from '../export/chart-fields.ts';
import { filterSchema } from '../filters/filter.ts';
import { type JsonList, type ParameterKind, parameterKinds } from '../http/parameters.ts';
import { funnelSteps } from '../paths/funnel-api.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';
import type { ParameterObject } from './open-api.ts';
import type { Operation } from './operation.ts';

/** Descriptions of path parameters that are not just the id of a record in a list. A first start creates only one example, `demo`. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  projectId: "The site's id. The first start creates the site `demo`.",
  shareId: `The shared link's id. ${madeUp('/manage/shares')}`,
  token:
    'The token of the shared link, as `POST /manage/shares` returned it. The example is made up and returns 404.',
  profileId:
    'The id of the profile, as the site sent it. The profile of the example exists once the examples of `POST /track` have been sent.',
  groupId:
    'The id of the group, as the site sent it. The group of the example exists once the examples of `POST /track` have been sent.',
  file: 'A name that the page at `/` has. That of the example is made up and returns 404.',
  sessionId:
    'The id of the session, as events and the list of sessions have it: 32 hexadecimal digits. That of the example is made up and returns 404.',
  erasureId: `The id of the erasure receipt. ${madeUp('/manage/projects/{projectId}/erasures')}`,
  alias:
    'The alias, as the site sent it. The alias of the example exists once the examples of `POST /track` have been sent.',
};

/** The description of a path parameter: by default, its record is one of the list at the path before it. */
function pathMeaning(pattern: string, name: string): string {
  const list = pattern.slice(0, pattern.indexOf(`/:${name}`)).replace(/:(\w+)/g, '{$1}');
  return PATH_PARAMETERS[name] ?? `The ${name.replace(/Id$/, '')}'s id. ${madeUp(list)}`;
}

function madeUp(list: string): string {
  return `The example is made up and returns 404; \`GET ${list}\` lists the real ones.`;
}

/** The schemas of parameters whose text is JSON. */
const JSON_PARAMETERS: Readonly<Record<JsonList, () => JsonSchema>> = {
  filters: () => jsonSchemaOf(z.array(filterSchema), 'input'),
  series: () => jsonSchemaOf(seriesList, 'input'),
  steps: () => jsonSchemaOf(funnelSteps, 'input'),
  breakdowns: () => jsonSchemaOf(breakdownList, 'input'),
};

/** The path, query and header parameters of an operation. */
export function parametersOf(
  operation: Operation,
  named: (schema: JsonSchema) => JsonSchema,
): ParameterObject[] {
  const inPath = [...operation.pattern.matchAll(/:(\w+)/g)].map(
    ([, name = '']): ParameterObject => ({
      name,
      in: 'path',
      required: true,
      description: pathMeaning(operation.pattern, name),
      schema: { type: 'string' },
      ...exampled(operation.path[name]),
    }),
  );
  const { properties = {}, required = [] } = jsonSchemaOf(operation.parameters, 'input');
  const kinds = parameterKinds(operation.parameters);
  const inQuery = Object.entries(properties).map(
    ([name, { description, ...schema }]): ParameterObject => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...described(withForms(description, kinds.get(name))),
      ...queryValue(name, schema, { example: operation.query[name], named }),
    }),
  );
  const inHeaders = operation.headers.map(
    ({ name, description }): ParameterObject => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
      ...leftOut(operation),
    }),
  );
  return [...inPath, ...inQuery, ...inHeaders];
}

function queryValue(
  name: string,
  schema: JsonSchema,
  { example, named }: { readonly example: unknown; readonly named: (schema: JsonSchema) => JsonSchema },
): Pick<ParameterObject, 'schema' | 'content' | 'example' | 'examples'> {
  const json = isJsonList(name) ? JSON_PARAMETERS[name] : undefined;
  if (json === undefined) {
    return {
      schema,
      ...exampledOrLeftOut(schema.type === 'integer' && example !== undefined ? Number(example) : example),
    };
  }
  const value = exampledOrLeftOut(typeof example === 'string' ? JSON.parse(example) : undefined);
  return { content: { 'application/json': { schema: named(json()), ...value } } };
}

/** Says of a list in which forms it may be sent. */
function withForms(description: string | undefined, kind: ParameterKind | undefined): string | undefined {
  if (description === undefined || kind === undefined || kind === 'one') return description;
  const elements = kind === 'json' ? ', one object each' : ', or a JSON array';
  return `${description} May be repeated, also with \`[]\` or \`[0]\`${elements}.`;
}

function isJsonList(name: string): name is JsonList {
  return Object.hasOwn(JSON_PARAMETERS, name);
}

function described(description: string | undefined): Pick<ParameterObject, 'description'> {
  return description === undefined ? {} : { description };
}

function exampled(example: unknown): { example?: unknown } {
  return example === undefined ? {} : { example };
}

function exampledOrLeftOut(example: unknown): Pick<ParameterObject, 'example' | 'examples'> {
  return example === undefined ? leftOut({ body: undefined }) : { example };
}

/**
 * Makes the documentation page leave a parameter out of its sample requests, instead of inventing a value. The page
 * looks up the example of a parameter by the name of the body's example.
 */
function leftOut({ body }: Pick<Operation, 'body'>): Pick<ParameterObject, 'examples'> {
  const bodies = Object.keys(body?.examples ?? {});
  const names = bodies.length > 1 ? bodies : ['default'];
  return { examples: Object.fromEntries(names.map((name) => [name, { 'x-disabled': true }])) };
}
