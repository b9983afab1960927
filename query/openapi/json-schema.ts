import { z } from 'zod';

/** The part of JSON Schema 2020-12, the dialect of OpenAPI 3.1, that our schemas use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly discriminator?: {
    readonly propertyName: string;
    readonly mapping: Readonly<Record<string, string>>;
  };
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: string | number | boolean | null;
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** The side of a zod schema to describe: its input or its output. */
export type Side = 'input' | 'output';

/** Zod sets these to the safe integer range for every integer; such bounds carry no information. */
const BOUNDS = ['minimum', 'maximum'] as const;

/**
 * Converts a zod schema to JSON Schema. A transformation is described by the given side. Refinements and custom schemas
 * cannot be expressed and are left out; descriptions state them in words.
 */
export function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // JSON Schema patterns have no flags, so the pattern would reject input that the service accepts.
      delete jsonSchema.pattern;
      // A response may gain fields, and that must not break clients that validate it.
      if (side === 'output' && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
      if (jsonSchema.propertyNames !== undefined) delete jsonSchema.propertyNames;
      for (const bound of BOUNDS) {
        if (Math.abs(jsonSchema[bound] ?? 0) === Number.MAX_SAFE_INTEGER) delete jsonSchema[bound];
      }
      // Zod omits the default of a transformed value. A default that says nothing is removed.
      if (side === 'input' && def.type === 'default') {
        if (isInformative(def.defaultValue)) jsonSchema.default = def.defaultValue;
        else delete jsonSchema.default;
      }
    },
  });
  return JSON.parse(JSON.stringify(json));
}

/** True if a default carries more information than "absent". */
function isInformative(value: unknown): value is string | number | boolean {
  return (typeof value === 'string' && value !== '[]') || typeof value === 'number' || value === true;
}

/** Applies `change` to the direct subschemas of a schema. */
export function withInner(schema: JsonSchema, change: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: mapValues(properties, change) }),
    ...(items === undefined ? {} : { items: change(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: change(additionalProperties) }
      : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(change) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(change) }),
  };
}

/** An object with the same keys and each value mapped by `change`. */
export function mapValues<Before, After>(
  before: Readonly<Record<string, Before>>,
  change: (value: Before, key: string) => After,
): Record<string, After> {
  return Object.fromEntries(Object.entries(before).map(([key, value]) => [key, change(value, key)]));
}
