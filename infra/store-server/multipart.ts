import { exception } from './exceptions.ts';

const BOUNDARY = /boundary=(?:"([^"]+)"|([^\s;]+))/i;
const NAME = /content-disposition:[^\r\n]*?\bname="([^"]*)"/i;
const FIELDS_MAX = 10_000;

/** The boundary of a form; undefined when the body is not a form. */
export function formBoundary(contentType: string | undefined): string | undefined {
  if (contentType === undefined || !/^multipart\/form-data\b/i.test(contentType)) return undefined;
  const match = BOUNDARY.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/** The fields of a form in their order. Files, which the real server takes as external tables, are rejected. */
export function formFields(
  body: Buffer,
  boundary: string,
): readonly (readonly [name: string, value: string])[] {
  const fields: [string, string][] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const whole = Buffer.concat([Buffer.from('\r\n'), body]);
  let at = whole.indexOf(delimiter);
  while (at !== -1) {
    const start = at + delimiter.length;
    if (whole.toString('latin1', start, start + 2) === '--') return fields;
    const next = whole.indexOf(delimiter, start);
    if (next === -1) break;
    fields.push(field(whole.subarray(start, next)));
    if (fields.length > FIELDS_MAX) throw malformed('too many fields');
    at = next;
  }
  throw malformed('the closing boundary is missing');
}

function field(part: Buffer): [string, string] {
  const headEnd = part.indexOf('\r\n\r\n');
  if (headEnd === -1) throw malformed('a field has no head');
  const head = part.toString('utf8', 0, headEnd);
  if (/\bfilename=/i.test(head))
    throw exception('NOT_IMPLEMENTED', 'External tables in a form are not supported by the embedded store.');
  const name = NAME.exec(head)?.[1];
  if (name === undefined) throw malformed('a field has no name');
  return [name, part.toString('utf8', headEnd + 4)];
}

function malformed(why: string) {
  return exception('BAD_ARGUMENTS', `The form cannot be read: ${why}.`);
}
