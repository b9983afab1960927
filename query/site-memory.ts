import type { StoredId } from '../infra/accounts/ids.ts';

/**
 * The caches of a process that hold data of sites. When a site is deleted or a person erased, every cache evicts its data of the
 * site.
 */
export class SiteMemory {
  readonly #evicts: ((storedId: StoredId) => void)[] = [];

  /** Registers a cache; `evict` removes everything that it holds of the site with this `storedId`. */
  onEvict(evict: (storedId: StoredId) => void): void {
    this.#evicts.push(evict);
  }

  evict(storedId: StoredId): void {
    for (const evict of this.#evicts) evict(storedId);
  }
}
