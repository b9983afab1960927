import { z } from 'zod';
import {
  type ExportedWith,
  type ListedVisitColumn,
  VISIT_FIELD_LIST,
  type VisitField,
  type VisitText,
} from '../../processor/fields.ts';

/** Schemas of the fields that describe a visit, from their table. */

/** The texts that every exported event has. */
export function visitTexts(): Record<ExportedWith<undefined>, z.ZodString> {
  return shapeOf(({ exportGroup }) => exportGroup === undefined, textOf);
}

/** The texts that an `includes` adds to an exported event. */
export function includedTexts<Group extends NonNullable<VisitField['exportGroup']>>(
  group: Group,
): Record<ExportedWith<Group>, z.ZodOptional<z.ZodString>> {
  return shapeOf(
    ({ exportGroup }) => exportGroup === group,
    ({ meaning }) =>
      z
        .string()
        .optional()
        .describe(`includes=${group}${meaning === undefined ? '' : `: ${meaning}`}`),
  );
}

/** The texts of a listed session. */
export function listedTexts(): Record<ListedVisitColumn, z.ZodString> {
  return shapeOf(({ isListed = true }) => isListed, textOf);
}

function textOf({ meaning }: VisitField): z.ZodString {
  return meaning === undefined ? z.string() : z.string().describe(meaning);
}

function shapeOf<Column extends VisitText, Schema>(
  isMeant: (field: VisitField) => boolean,
  schemaOf: (field: VisitField) => Schema,
): Record<Column, Schema> {
  const fields = VISIT_FIELD_LIST.filter(
    ([column, field]) => column !== 'longitude' && column !== 'latitude' && isMeant(field),
  );
  return Object.fromEntries(fields.map(([column, field]) => [column, schemaOf(field)])) as Record<
    Column,
    Schema
  >;
}
