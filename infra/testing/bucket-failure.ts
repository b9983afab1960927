import { expect } from 'vitest';
import { BucketError } from '../object-store/object-store.ts';

/** Returns the error with which `work` must fail. */
export async function failureOf(work: Promise<unknown>): Promise<BucketError> {
  const error = await work.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BucketError);
  return error as BucketError;
}
