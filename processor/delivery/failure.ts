import { BusError } from '../../infra/bus/bus-error.ts';
import { BucketError } from '../../infra/object-store/object-store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import type { DeliveryFailure } from '../integration.ts';
import { UnreadableError } from './advance.ts';

/** Why a move failed: a reason from a closed list, and a readable message. */
export interface Failed {
  readonly reason: DeliveryFailure;
  readonly message: string;
}

/**
 * The failure that an error means for its integration; undefined while the bus is unavailable, because the record cannot be written either.
 */
export function failedOf(error: unknown): Failed | undefined {
  if (error instanceof BusError) return undefined;
  if (error instanceof BucketError) return { reason: error.failure, message: error.message };
  if (error instanceof UnreadableError)
    return {
      reason: 'unreadable',
      message: 'The secret access key can no longer be decrypted. Set it again.',
    };
  if (error instanceof StoreError && error.kind === 'retryable')
    return { reason: 'store-away', message: 'The event store does not answer.' };
  return { reason: 'failed', message: 'Internal error. See the log of the service.' };
}
