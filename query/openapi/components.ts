import { z } from 'zod';
import { exportedEvent, groupAnswer, metricsSchema, profileAnswer } from '../api.ts';
import { breakdownAnswer } from '../insights/breakdown-api.ts';
import { pagesAnswer } from '../insights/pages-api.ts';
import { listedSession } from '../insights/session-list-api.ts';
import { dashboardShown, referenceShown, reportShown } from '../manage/catalog-api.ts';
import { clientShown } from '../manage/client-api.ts';
import { connectionShown } from '../manage/gsc/gsc-api.ts';
import { integrationShown } from '../manage/integrations/integration-api.ts';
import { projectShown } from '../manage/project-api.ts';
import { withMeanings } from './field-meanings.ts';
import { filterJson } from './filter-schema.ts';
import { type JsonSchema, jsonSchemaOf, mapValues, withInner } from './json-schema.ts';
import { trackBodySchemas } from './track-body.ts';

/** What every refusal says. */
export const errorAnswer = z.object({
  status: z.number().describe('The status code.'),
  error: z.string().describe('What the status code is called.'),
  message: z
    .string()
    .describe('What is wrong, for a person to read; it begins with the field, where there is one.'),
});

/** What is answered in more than one place, by the name that it has in the description. */
const ANSWERED: Readonly<Record<string, z.ZodType>> = {
  Error: errorAnswer,
  Figures: metricsSchema,
  RankedRow: breakdownAnswer.element,
  RankedPage: pagesAnswer.element,
  ExportedEvent: exportedEvent,
  Session: listedSession,
  Profile: profileAnswer,
  Group: groupAnswer,
};
const MANAGED: Readonly<Record<string, z.ZodType>> = {
  Project: projectShown,
  Client: clientShown,
  Reference: referenceShown,
  Dashboard: dashboardShown,
  Report: reportShown,
  SearchConsoleConnection: connectionShown,
  Integration: integrationShown,
};

/** Schemas by name, and the way to say a name instead of the schema that it stands for. */
export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** The same schema, with a reference wherever a named one stands. */
  named(schema: JsonSchema): JsonSchema;
}

/** Every schema that has a name. */
export function components(): Components {
  const whole: Record<string, JsonSchema> = {
    ...trackBodySchemas(),
    Filter: filterJson(),
    ...mapValues(ANSWERED, (schema) => jsonSchemaOf(schema, 'output')),
    ...mapValues(MANAGED, (schema) => withMeanings(jsonSchemaOf(schema, 'output'))),
  };
  const names = new Map(Object.entries(whole).map(([name, schema]) => [JSON.stringify(schema), name]));
  const named = (schema: JsonSchema): JsonSchema => {
    const name = names.get(JSON.stringify(schema));
    return name === undefined ? withInner(schema, named) : { $ref: refTo(name) };
  };
  return { schemas: mapValues(whole, (schema) => withInner(schema, named)), named };
}

/** The reference to a schema that has a name. */
export function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}
