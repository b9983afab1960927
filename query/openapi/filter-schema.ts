import { filterSchema } from '../filters/filter.ts';
import { withMeanings } from './field-meanings.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';

/** A filter as a request sends it. */
export function filterJson(): JsonSchema {
  return withMeanings(jsonSchemaOf(filterSchema, 'input'), 'filters');
}
