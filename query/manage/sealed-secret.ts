import { SealingKeyError, seal } from '../../infra/sealed.ts';
import { RejectError } from '../reject.ts';

/** Seals a secret for the record at `recordKey`. Throws a `RejectError` if there is no key to seal with. */
export function sealedSecret(secretsKey: string, recordKey: string, secret: string): string {
  try {
    return seal(secretsKey, recordKey, secret);
  } catch (error) {
    if (error instanceof SealingKeyError) throw new RejectError('not-set-up', error.message, error);
    throw error;
  }
}
