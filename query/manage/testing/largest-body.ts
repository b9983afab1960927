import { z } from 'zod';

/** Characters that take much room in JSON, most first: `\u0001` six bytes, three of UTF-8, an escape of two, and one. */
const FILLERS = ['\u0001', '一', '"', '1', 'a'];

/** Long texts that satisfy the patterns of single fields. */
const PATTERNED: readonly string[] = [
  '2026-03-01',
  '2026-03-01T00:00:00.000000000000+01:00',
  'EUR',
  'deu',
  'desktop',
  'America/Argentina/ComodRivadavia',
  'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128',
  'a'.repeat(32),
  `https://${'a'.repeat(292)}`,
  `https://a.example/${'\u0001'.repeat(2_030)}`,
  `${'\u0001'.repeat(159)}@${'\u0001'.repeat(160)}`,
  `-----BEGIN RSA PRIVATE KEY-----${'\u000b'.repeat(16_324)}-----END RSA PRIVATE KEY-----`,
  '0d6d3a52-6f0b-4a0e-9d0b-3f8f7c1e2a41',
];

/** Bodies of a whole field, by path, for those whose size no maximum of a part bounds. */
export type GivenFields = Readonly<Record<string, unknown>>;

/**
 * Returns a value with the longest JSON that a schema accepts, as far as its parts show: every optional field, every list full,
 * every text at its maximum. Throws for a part without a bound, and for a text that no candidate satisfies.
 */
export function largestOf(schema: z.ZodType, given: GivenFields, at = 'body'): unknown {
  if (Object.hasOwn(given, at)) return given[at];
  const inner = (one: unknown, path = at) => largestOf(one as z.ZodType, given, path);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return inner(schema.unwrap());
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform) return inner(schema.out);
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape);
    return Object.fromEntries(fields.map(([name, field]) => [name, inner(field, `${at}.${name}`)]));
  }
  if (schema instanceof z.ZodArray) {
    const length = maximumOf(schema);
    if (length === undefined) throw new Error(`${at}: a list without a maximum`);
    const element = inner(schema.element, `${at}.0`);
    return Array.from({ length }, () => element);
  }
  if (schema instanceof z.ZodUnion) return longest(schema.options.map((option) => inner(option)));
  if (schema instanceof z.ZodEnum) return longest([...schema.options]);
  if (schema instanceof z.ZodLiteral) return longest([...schema.values]);
  if (schema instanceof z.ZodBoolean) return false;
  if (schema instanceof z.ZodNumber) return largestNumber(schema, at);
  if (isText(schema)) return largestText(schema, at);
  throw new Error(`${at}: a schema of an unknown kind`);
}

/** The bytes of a value as compact JSON. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** A text, also one that is transformed. */
function isText(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodPipe) return isText(schema.in as z.ZodType);
  return schema instanceof z.ZodString || schema instanceof z.ZodStringFormat;
}

/** The maximum length of a text or a list; undefined if there is none. */
function maximumOf(schema: z.ZodType): number | undefined {
  if (schema instanceof z.ZodPipe) return maximumOf(schema.in as z.ZodType);
  const maxima = (schema._zod.def.checks ?? []).flatMap(({ _zod: { def } }) =>
    'maximum' in def && typeof def.maximum === 'number' ? [def.maximum] : [],
  );
  return maxima.length === 0 ? undefined : Math.min(...maxima);
}

function longest(values: readonly unknown[]): unknown {
  return values.reduce((most, value) => (bytesOf(value) > bytesOf(most) ? value : most));
}

function largestNumber(schema: z.ZodType, at: string): number {
  const numbers = [
    -Number.MAX_SAFE_INTEGER,
    4_294_967_295,
    36_500,
    9_999.123456789011,
    0.1234567890123456,
    1,
  ];
  const accepted = numbers.filter((number) => schema.safeParse(number).success);
  if (accepted.length === 0) throw new Error(`${at}: no number fits`);
  return longest(accepted) as number;
}

function largestText(schema: z.ZodType, at: string): string {
  const most = maximumOf(schema);
  const fits = (text: string) => schema.safeParse(text).success;
  const found = PATTERNED.filter(fits);
  if (most !== undefined) found.push(...FILLERS.map((filler) => filler.repeat(most)).filter(fits));
  else if (fits('a'.repeat(1_000_000))) throw new Error(`${at}: a text without a maximum`);
  if (found.length === 0) throw new Error(`${at}: no candidate fits; add one to PATTERNED`);
  return longest(found) as string;
}
