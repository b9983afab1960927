import { expect } from 'vitest';
import { BucketError } from '../object-store/object-store.ts';

/** The error that `work` is expected to end with. */
export async function failureOf(work: Promise<unknown>): Promise<BucketError> {
  const error = await work.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BucketError);
  return error as BucketError;
}
