import type { StoredId } from '../accounts/ids.ts';

/** The key of a site of a test. */
export function storedId(text: string): StoredId {
  return text as StoredId;
}
