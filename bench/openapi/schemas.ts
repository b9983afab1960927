import { Ajv2020, type AnySchema, type ErrorObject } from 'ajv/dist/2020.js';

/** Schemas by the name behind `#/components/schemas/`. */
export type NamedSchemas = Readonly<Record<string, unknown>>;

/** Returns the places where a value breaks a schema, as `data.0.id: must be string`; the whole value is `value`. */
export type SchemaCheck = (value: unknown, schema: unknown) => string[];

const REFERENCE = '#/components/schemas/';

/** The formats of our description. The day of a date is not checked against the length of its month. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  'date-time':
    /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

/**
 * Checks values against JSON Schema 2020-12, the dialect of OpenAPI 3.1. An unknown keyword, format or reference
 * throws, because a check that is skipped would look like one that passed.
 */
export function schemaCheck(named: NamedSchemas): SchemaCheck {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    ownProperties: true,
    formats: FORMATS,
  });
  // This keyword only guides readers; `oneOf` and the constants in its schemas decide.
  ajv.addKeyword('discriminator');
  for (const [name, schema] of Object.entries(named))
    ajv.addSchema(schema as AnySchema, `${REFERENCE}${name}`);
  return (value, schema) => {
    const fits = ajv.compile(schema as AnySchema);
    return fits(value) ? [] : (fits.errors ?? []).map(said);
  };
}

/** The schema that a reference names. Throws where there is none. */
export function referred(reference: unknown, named: NamedSchemas): unknown {
  const name = String(reference).startsWith(REFERENCE) ? String(reference).slice(REFERENCE.length) : '';
  if (!Object.hasOwn(named, name)) throw new Error(`the reference ${reference} leads nowhere`);
  return named[name];
}

function said({ instancePath, message, params }: ErrorObject): string {
  const place = instancePath === '' ? 'value' : instancePath.slice(1).replaceAll('/', '.');
  return `${place}: ${message} ${JSON.stringify(params)}`;
}
