import { type ParsedBody, parseTrackBody } from '../request/track-request.ts';
import { object, plain, raw, textOf } from './json-text.ts';

/** The JSON of each field of a payload. */
export type FieldTexts = Readonly<Record<string, string | undefined>>;

/** Parses a body whose payload has these fields, each given as raw JSON; an undefined field is left out. */
export function parseFields(type: string, fields: FieldTexts): ParsedBody {
  const payload = object(
    Object.fromEntries(
      Object.entries(fields).map(([name, json]) => [name, json === undefined ? undefined : raw(json)]),
    ),
  );
  return parseTrackBody(Buffer.from(textOf(object({ type: plain(type), payload }))));
}

/** A field of the parsed body, or why the body was rejected. */
export function fieldOf(body: ParsedBody, field: string): unknown {
  return body.kind === 'reject' ? `rejected: ${body.message}` : new Map(Object.entries(body)).get(field);
}

/** JSON of an object nested this many levels deep. */
export function deep(depth: number): string {
  return '{"d":'.repeat(depth) + 1 + '}'.repeat(depth);
}
