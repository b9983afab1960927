import { filterSchema } from '../filters/filter.ts';
import { withMeanings } from './field-meanings.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';

/** A filter, as who asks writes it. */
export function filterJson(): JsonSchema {
  return withMeanings(jsonSchemaOf(filterSchema, 'input'), 'filters');
}
