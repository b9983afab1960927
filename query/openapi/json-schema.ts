import { z } from 'zod';

/** As much of JSON Schema 2020-12, which is that of OpenAPI 3.1, as our schemas come to. */
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

/** What a schema takes, or what it makes of it. */
export type Side = 'input' | 'output';

/** Bounds that only say how far a number is exact. */
const BOUNDS = ['minimum', 'maximum'] as const;

/**
 * A zod schema as JSON Schema. Of a transformation the side that is asked for is described. What only code can say, such
 * as a refinement or a schema of one's own making, is left out: descriptions say it in words.
 */
export function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // A pattern loses its flags on the way, and would refuse what the service takes.
      delete jsonSchema.pattern;
      // An answer may get another field, and nobody's reader should break.
      if (side === 'output' && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
      if (jsonSchema.propertyNames !== undefined) delete jsonSchema.propertyNames;
      for (const bound of BOUNDS) {
        if (Math.abs(jsonSchema[bound] ?? 0) === Number.MAX_SAFE_INTEGER) delete jsonSchema[bound];
      }
      // Zod leaves out the default of what is transformed, and one that says nothing helps nobody.
      if (side === 'input' && def.type === 'default') {
        if (isTelling(def.defaultValue)) jsonSchema.default = def.defaultValue;
        else delete jsonSchema.default;
      }
    },
  });
  return JSON.parse(JSON.stringify(json));
}

/** Whether a default says more than that there is nothing. */
function isTelling(value: unknown): value is string | number | boolean {
  return (typeof value === 'string' && value !== '[]') || typeof value === 'number' || value === true;
}

/** A schema with `change` made to the outermost of those within. */
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

/** An object with the same keys, and `change` made to the value of each. */
export function mapValues<Before, After>(
  before: Readonly<Record<string, Before>>,
  change: (value: Before, key: string) => After,
): Record<string, After> {
  return Object.fromEntries(Object.entries(before).map(([key, value]) => [key, change(value, key)]));
}
