import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { type Delivery, deliverySchema, integrationKeyOf } from '../integration.ts';

/** Another process wrote the record since it was read. The next move is read from it again. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
}

/** A record and the revision that its next write follows. Without a record: undefined, and the revision for a first write. */
export interface StoredDelivery {
  readonly delivery: Delivery | undefined;
  readonly revision: number;
}

/**
 * Reads the delivery of an integration. Throws a `BusError`, or an error when the record has a version that this
 * program does not know.
 */
export async function readDelivery(bucket: KeyedBytes, integrationId: string): Promise<StoredDelivery> {
  const stored = await bucket.get(integrationKeyOf(integrationId));
  if (stored?.bytes === undefined) return { delivery: undefined, revision: stored?.revision ?? 0 };
  const delivery = deliverySchema.parse(JSON.parse(Buffer.from(stored.bytes).toString('utf8')));
  return { delivery, revision: stored.revision };
}

/**
 * Writes the record unless another process wrote it since `revision`. A write whose acknowledgement is lost may have taken effect; the next
 * read shows it.
 * @throws {OvertakenError}
 * @throws {BusError}
 */
export async function writeDelivery(bucket: KeyedBytes, delivery: Delivery, revision: number): Promise<void> {
  try {
    await bucket.put(integrationKeyOf(delivery.integrationId), encodeJson(delivery), revision);
  } catch (error) {
    if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    throw new OvertakenError(`another process writes the delivery of ${delivery.integrationId}`, {
      cause: error,
    });
  }
}
