import { type ParsedBody, parseTrackBody } from '../request/track-request.ts';
import { object, plain, raw, textOf } from './json-text.ts';

/** JSON of each field of a payload. */
export type FieldTexts = Readonly<Record<string, string | undefined>>;

/** Parses a body whose payload has these fields; each is JSON as it stands in the text, or undefined to leave it out. */
export function parseFields(type: string, fields: FieldTexts): ParsedBody {
  const payload = object(
    Object.fromEntries(
      Object.entries(fields).map(([name, json]) => [name, json === undefined ? undefined : raw(json)]),
    ),
  );
  return parseTrackBody(Buffer.from(textOf(object({ type: plain(type), payload }))));
}

/** What one field of a parsed body is; of a refused one, why. */
export function fieldOf(body: ParsedBody, field: string): unknown {
  return body.kind === 'reject' ? `rejected: ${body.message}` : new Map(Object.entries(body)).get(field);
}

/** JSON of `inner` below so many objects. */
export function deep(depth: number): string {
  return '{"d":'.repeat(depth) + 1 + '}'.repeat(depth);
}
