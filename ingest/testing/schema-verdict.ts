import type { AcceptedBody } from '../request/track-request.ts';
import { batchSchema, bodySchema } from '../track-schema.ts';

/** The body that the schema reads from these bytes; undefined when it rejects them. */
export function verdictOf(bytes: Uint8Array): AcceptedBody | undefined {
  return bodySchema.safeParse(jsonOf(bytes)).data;
}

/** The same for a batch, element by element, each with its JSON; undefined when the batch itself is rejected. */
export function verdictsOf(bytes: Uint8Array) {
  const batch = batchSchema.safeParse(jsonOf(bytes));
  return batch.data?.map((element) => ({ element, accepted: bodySchema.safeParse(element).data }));
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined; // Every schema rejects undefined.
  }
}
