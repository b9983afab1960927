import { exception } from './exceptions.ts';

const BOUNDARY = /boundary=(?:"([^"]+)"|([^\s;]+))/i;
const NAME = /content-disposition:[^\r\n]{0,200}?\bname="([^"]{0,200})"/i;
const PARTS_MAX = 10_000;

/** The boundary of a form; undefined when the body is not a form. */
export function formBoundary(contentType: string | undefined): string | undefined {
  if (contentType === undefined || !/^multipart\/form-data\b/i.test(contentType)) return undefined;
  const match = BOUNDARY.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/** One part of a form: a field, or a file, which is an external table. */
export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  readonly bytes: Buffer;
}

/** The parts of a form in their order. */
export function formParts(body: Buffer, boundary: string): readonly FormPart[] {
  const parts: FormPart[] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const whole = Buffer.concat([Buffer.from('\r\n'), body]);
  let at = whole.indexOf(delimiter);
  while (at !== -1) {
    const start = at + delimiter.length;
    if (whole.toString('latin1', start, start + 2) === '--') return parts;
    const next = whole.indexOf(delimiter, start);
    if (next === -1) break;
    parts.push(formPart(whole.subarray(start, next)));
    if (parts.length > PARTS_MAX) throw malformed('too many fields');
    at = next;
  }
  throw malformed('the closing boundary is missing');
}

function formPart(part: Buffer): FormPart {
  const headEnd = part.indexOf('\r\n\r\n');
  if (headEnd === -1) throw malformed('a field has no head');
  const head = part.toString('utf8', 0, headEnd);
  const name = NAME.exec(head)?.[1];
  if (name === undefined) throw malformed('a field has no name');
  return { name, isFile: /\bfilename=/i.test(head), bytes: part.subarray(headEnd + 4) };
}

function malformed(why: string) {
  return exception('BAD_ARGUMENTS', `The form cannot be read: ${why}.`);
}
