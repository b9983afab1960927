import type { JsonSchema } from './json-schema.ts';

const FORMATS: Readonly<Record<string, string>> = { 'date-time': 'ISO time', uuid: 'UUID' };

/** What a value may be, in a few words: `text, at most 80 characters`, `list of Project`, `text or null`. */
export function typeText(schema: JsonSchema): string {
  const { $ref, enum: values, const: value } = schema;
  if ($ref !== undefined) return nameOf($ref);
  if (value !== undefined) return JSON.stringify(value);
  if (values !== undefined) return `one of ${values.map((one) => String(one)).join(', ')}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' or ');
  const types = schema.type === undefined ? [] : [schema.type].flat();
  return types.length === 0 ? 'anything' : types.map((type) => oneType(type, schema)).join(' or ');
}

/** What a list is before its entries are named: `list of `, `list, 1 to 26 entries, each `. */
export function listText({ minItems, maxItems }: JsonSchema): string {
  const bounds = boundsText('entries', { min: minItems, max: maxItems });
  return bounds === '' ? 'list of ' : `list${bounds}, each `;
}

/** The name of a schema that is referred to. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

function oneType(type: string, schema: JsonSchema): string {
  const { format, items, additionalProperties } = schema;
  switch (type) {
    case 'string': {
      const what = format === undefined ? 'text' : (FORMATS[format] ?? format);
      return what + boundsText('characters', { min: schema.minLength, max: schema.maxLength });
    }
    case 'integer':
      return `whole number${numberBounds(schema)}`;
    case 'number':
      return `number${numberBounds(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return items === undefined ? 'list' : listText(schema) + typeText(items);
    case 'object':
      return typeof additionalProperties === 'object' && additionalProperties.type !== undefined
        ? `object of ${typeText(additionalProperties)}`
        : 'object';
    default:
      return type;
  }
}

function numberBounds({ minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  const above = exclusiveMinimum === undefined ? '' : ` above ${exclusiveMinimum}`;
  return above + boundsText('', { min: minimum, max: maximum });
}

interface Bounds {
  readonly min: number | undefined;
  readonly max: number | undefined;
}

/** Empty where there are none. */
function boundsText(unit: string, { min, max }: Bounds): string {
  const of = unit === '' ? '' : ` ${unit}`;
  if (min === undefined) return max === undefined ? '' : `, at most ${max}${of}`;
  return max === undefined ? `, at least ${min}${of}` : `, ${min} to ${max}${of}`;
}
