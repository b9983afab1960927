import { type Html, html, inline } from './html.ts';
import type { JsonSchema } from './json-schema.ts';
import { listText, nameOf, typeText } from './schema-text.ts';

/** What a value is made of: its type, what it means, and the fields below it as nested lists. */
export function valueShown(schema: JsonSchema): Html {
  return html`<p><span class="type">${typeShown(schema)}.</span>${meaningOf(schema)}</p>${below(schema)}`;
}

/** A type in words; a schema with a name is a link to where it is shown. */
export function typeShown(schema: JsonSchema): Html {
  const { $ref, type, items } = schema;
  if ($ref !== undefined) return html`<a href="#schema-${nameOf($ref)}">${nameOf($ref)}</a>`;
  if (type === 'array' && items !== undefined) return html`${listText(schema)}${typeShown(items)}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.some(({ $ref: ref }) => ref !== undefined)) {
    return html`${choices.map((choice, index) => html`${index === 0 ? '' : ' or '}${typeShown(choice)}`)}`;
  }
  return html`${typeText(schema)}`;
}

/** The fields of the object that stands here, in a list or as one of several. */
function below(schema: JsonSchema): Html | undefined {
  const { properties, required = [], items, additionalProperties } = schema;
  if (properties !== undefined && Object.keys(properties).length > 0) {
    const fields = Object.entries(properties).map(([name, field]) =>
      fieldShown(name, field, required.includes(name)),
    );
    return html`<ul class="fields">${fields}</ul>`;
  }
  if (items !== undefined) return below(items);
  if (typeof additionalProperties === 'object') return below(additionalProperties);
  const choices = (schema.anyOf ?? schema.oneOf ?? []).map(below).filter((choice) => choice !== undefined);
  return choices.length === 0 ? undefined : html`${choices}`;
}

function fieldShown(name: string, field: JsonSchema, isRequired: boolean): Html {
  const more = below(field);
  const absence =
    field.default === undefined
      ? html`${isRequired ? '' : '; optional'}`
      : html`; <code>${String(field.default)}</code> where it is not given`;
  const folded =
    more === undefined
      ? undefined
      : html`<details open><summary>Fields of <code>${name}</code></summary>${more}</details>`;
  return html`<li><code>${name}</code> <span class="type">${typeShown(field)}${absence}.</span>${meaningOf(field)}${folded}</li>`;
}

function meaningOf({ description }: JsonSchema): Html | undefined {
  return description === undefined ? undefined : html` ${inline(description)}`;
}
