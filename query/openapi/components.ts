import { z } from 'zod';
import { exportedEvent, groupAnswer, metricsSchema, profileAnswer } from '../api.ts';
import { goalShown, segmentShown } from '../definitions/definition-records.ts';
import { referenceShown as referenceInRange } from '../definitions/definitions-api.ts';
import { recordTimes } from '../definitions/record-fields.ts';
import { filterSchema } from '../filters/filter.ts';
import { breakdownAnswer } from '../insights/breakdown-api.ts';
import { pagesAnswer } from '../insights/pages-api.ts';
import { listedSession } from '../insights/session-list-api.ts';
import { aliasShown } from '../manage/aliases.ts';
import { dashboardShown, referenceShown } from '../manage/catalog-api.ts';
import { clientShown } from '../manage/client-api.ts';
import { connectionShown } from '../manage/gsc/gsc-api.ts';
import { integrationShown } from '../manage/integrations/integration-api.ts';
import { projectShown } from '../manage/project-api.ts';
import { shareShown } from '../manage/share-api.ts';
import { userShown } from '../manage/user-api.ts';
import { listedGroup } from '../people/group-list-api.ts';
import { journeyEvent } from '../people/journey-api.ts';
import { listedProfile } from '../people/profile-list-api.ts';
import { reportShown } from '../reports/report-api.ts';
import { searchPage, searchQuery } from '../search-console/search-console-api.ts';
import { type JsonSchema, jsonSchemaOf, mapValues, withInner } from './json-schema.ts';
import { trackBodySchemas } from './track-body.ts';

/** The body of every error response. */
export const errorAnswer = z.object({
  status: z.number().describe('The HTTP status code.'),
  error: z.string().describe('The standard name of the status code.'),
  message: z
    .string()
    .describe('What is wrong, in plain English. Starts with the name of the invalid field, if any.'),
});

// The only field of a managed record whose own schema says nothing of it.
z.globalRegistry.add(aliasShown.shape.createdAt, { description: recordTimes.createdAt.description });

/** Schemas that several responses share, by their name in the document. */
const ANSWERED: Readonly<Record<string, z.ZodType>> = {
  Error: errorAnswer,
  Figures: metricsSchema,
  RankedRow: breakdownAnswer.element,
  RankedPage: pagesAnswer.element,
  ExportedEvent: exportedEvent,
  Session: listedSession,
  Profile: profileAnswer,
  Group: groupAnswer,
  ReferenceInRange: referenceInRange,
  ListedProfile: listedProfile,
  ListedGroup: listedGroup,
  JourneyEvent: journeyEvent,
  SearchPage: searchPage,
  SearchQuery: searchQuery,
  Project: projectShown,
  Client: clientShown,
  User: userShown,
  Share: shareShown,
  Reference: referenceShown,
  Dashboard: dashboardShown,
  Report: reportShown,
  Segment: segmentShown,
  Goal: goalShown,
  SearchConsoleConnection: connectionShown,
  Integration: integrationShown,
};

/** The named schemas, and a way to replace inline schemas with references to them. */
export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** The same schema with a `$ref` instead of each named part. */
  named(schema: JsonSchema): JsonSchema;
}

/** Collects all named schemas. */
export function components(): Components {
  const whole: Record<string, JsonSchema> = {
    ...trackBodySchemas(),
    Filter: jsonSchemaOf(filterSchema, 'input'),
    ...mapValues(ANSWERED, (schema) => jsonSchemaOf(schema, 'output')),
  };
  const names = new Map(Object.entries(whole).map(([name, schema]) => [JSON.stringify(schema), name]));
  const named = (schema: JsonSchema): JsonSchema => {
    const name = names.get(JSON.stringify(schema));
    return name === undefined ? withInner(schema, named) : { $ref: refTo(name) };
  };
  return { schemas: mapValues(whole, (schema) => withInner(schema, named)), named };
}

/** The `$ref` of a named schema. */
export function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}
