import { JsonElements } from '../request/json-elements.ts';
import { type AcceptedBody, BODY_NESTING_MAX } from '../request/track-request.ts';
import { batchSchema, bodySchema } from '../track-schema.ts';

/** The body that the schema reads from these bytes; undefined when it rejects them. */
export function verdictOf(bytes: Uint8Array): AcceptedBody | undefined {
  return isShallow(bytes) ? bodySchema.safeParse(jsonOf(bytes)).data : undefined;
}

/** The same for a batch, element by element, each with its JSON; undefined when the batch itself is rejected. */
export function verdictsOf(bytes: Uint8Array) {
  const batch = batchSchema.safeParse(jsonOf(bytes));
  const elements = new JsonElements(bytes);
  return batch.data?.map((element) => {
    const { start = 0, end = 0 } = elements.next() ?? {};
    const accepted = isShallow(bytes.subarray(start, end)) ? bodySchema.safeParse(element).data : undefined;
    return { element, accepted };
  });
}

/** True if JSON has at most `BODY_NESTING_MAX` levels, also in values that a later one of the same key replaces. */
function isShallow(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes)
    .toString('latin1')
    .replace(/"(?:[^"\\]|\\.)*"/g, '');
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if ('[{'.includes(character)) depth += 1;
    else if (']}'.includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest <= BODY_NESTING_MAX;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined; // Every schema rejects undefined.
  }
}
