import { z } from 'zod';
import {
  type ExportedWith,
  type ListedVisitColumn,
  VISIT_FIELD_LIST,
  type VisitColumn,
  type VisitCoordinate,
  type VisitField,
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
    ({ exportGroup, isCoordinate }) => exportGroup === group && !isCoordinate,
    (field) => z.string().optional().describe(includedMeaning(field)),
  );
}

/** The coordinates that an `includes` adds to an exported event. */
export function includedCoordinates(): Record<VisitCoordinate, z.ZodOptional<z.ZodNullable<z.ZodNumber>>> {
  return shapeOf(
    ({ isCoordinate = false }) => isCoordinate,
    (field) => z.number().nullable().optional().describe(includedMeaning(field)),
  );
}

function includedMeaning({ exportGroup, meaning }: VisitField): string {
  return `includes=${exportGroup}${meaning === undefined ? '' : `: ${meaning}`}`;
}

/** The texts of a listed session. */
export function listedTexts(): Record<ListedVisitColumn, z.ZodString> {
  return shapeOf(({ isListed = true }) => isListed, textOf);
}

function textOf({ meaning }: VisitField): z.ZodString {
  return meaning === undefined ? z.string() : z.string().describe(meaning);
}

function shapeOf<Column extends VisitColumn, Schema>(
  isMeant: (field: VisitField) => boolean,
  schemaOf: (field: VisitField) => Schema,
): Record<Column, Schema> {
  const fields = VISIT_FIELD_LIST.filter(([, field]) => isMeant(field));
  return Object.fromEntries(fields.map(([column, field]) => [column, schemaOf(field)])) as Record<
    Column,
    Schema
  >;
}
