import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';

/** Estimated bytes of a path with its cache entry. */
const PATH_BYTES = 200;

/**
 * The paths that each question showed last. The next answer usually has the same pages, so their details can be asked
 * for before the answer is known. Keys begin with a site and a space.
 */
export class ShownPages {
  readonly #paths: LRUCache<string, readonly string[]>;

  constructor(bytesMax: number) {
    this.#paths = new LRUCache({
      maxSize: Math.max(1, Math.floor(bytesMax)),
      sizeCalculation: (paths) => (1 + paths.length) * PATH_BYTES,
    });
  }

  /** The paths that a question showed last; none if unknown. */
  last(key: string): readonly string[] {
    return this.#paths.get(key) ?? [];
  }

  note(key: string, paths: readonly string[]): void {
    this.#paths.set(key, paths);
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    deleteKeys(this.#paths, `${storedId} `);
  }
}
