/**
 * JSON under construction, with parts that `JSON.stringify` cannot write: equal keys in one object, numbers beyond
 * doubles, and words that are not JSON.
 */
export type JsonNode =
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'object'; readonly members: [key: string, value: JsonNode][] }
  | { readonly kind: 'array'; readonly elements: JsonNode[] };

/** A value as the text contains it, valid or not. */
export function raw(text: string): JsonNode {
  return { kind: 'raw', text };
}

/** A string, a number, true, false or null. */
export function plain(value: string | number | boolean | null): JsonNode {
  return raw(JSON.stringify(value));
}

/** An object whose fields can be mutated, repeated and renamed; undefined ones are left out. */
export function object(fields: Readonly<Record<string, JsonNode | undefined>>): JsonNode {
  const members = Object.entries(fields).flatMap(([key, value]): [string, JsonNode][] =>
    value === undefined ? [] : [[key, value]],
  );
  return { kind: 'object', members };
}

export function array(elements: JsonNode[]): JsonNode {
  return { kind: 'array', elements };
}

/** The node's text. Lone surrogates are written as escapes. */
export function textOf(node: JsonNode): string {
  if (node.kind === 'raw') return node.text;
  if (node.kind === 'array') return `[${node.elements.map(textOf).join(',')}]`;
  return `{${node.members.map(([key, value]) => `${JSON.stringify(key)}:${textOf(value)}`).join(',')}}`;
}

/** `inner` inside this many objects of one key each, or arrays of one element. */
export function nested(inner: JsonNode, depth: number, bracket: 'object' | 'array'): JsonNode {
  const [open, close] = bracket === 'object' ? ['{"d":', '}'] : ['[', ']'];
  return raw(open.repeat(depth) + textOf(inner) + close.repeat(depth));
}
