import type { Site } from '../../infra/accounts/accounts.ts';
import { AddressList } from '../../infra/network/address-range.ts';
import type { ProfileId } from '../event.ts';
import { PathPatterns } from './path-patterns.ts';

/** The values that a site's filters look at. Each is a reason in the tallies. */
export const FILTER_KINDS = ['address', 'profile', 'name', 'path'] as const;
export type FilterKind = (typeof FILTER_KINDS)[number];

/** The values that filters are compared with; empty when the request does not give one. */
export interface FilterSubject {
  readonly address: string;
  readonly profileId: ProfileId;
  readonly name: string;
  readonly path: string;
}

/**
 * The filters of sites, compiled once per version of a site's settings. Addresses are single ones or CIDR ranges; in
 * paths `*` matches any run of characters; names and profile ids match exactly.
 */
export class SiteFilters {
  readonly #compiled = new WeakMap<Site['filters'], CompiledFilters>();

  /** True if the site has any filter. */
  hasFilters({ filters: { addresses, profileIds, names, paths } }: Site): boolean {
    return addresses.length + profileIds.length + names.length + paths.length > 0;
  }

  /** Returns the kind of filter that excludes this; undefined when none does. */
  excludedBy({ filters }: Site, subject: FilterSubject): FilterKind | undefined {
    let compiled = this.#compiled.get(filters);
    if (compiled === undefined) {
      compiled = new CompiledFilters(filters);
      this.#compiled.set(filters, compiled);
    }
    return compiled.excludedBy(subject);
  }
}

class CompiledFilters {
  /** An entry that is not an address filters nothing: it must not stop the site's events. */
  readonly #addresses: AddressList;
  readonly #profileIds: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #paths: PathPatterns;

  constructor({ addresses, profileIds, names, paths }: Site['filters']) {
    this.#addresses = new AddressList(addresses);
    this.#profileIds = new Set(profileIds);
    this.#names = new Set(names);
    this.#paths = new PathPatterns(paths);
  }

  excludedBy({ address, profileId, name, path }: FilterSubject): FilterKind | undefined {
    if (this.#addresses.includes(address)) return 'address';
    if (profileId !== '' && this.#profileIds.has(profileId)) return 'profile';
    if (name !== '' && this.#names.has(name)) return 'name';
    return path !== '' && this.#paths.match(path) ? 'path' : undefined;
  }
}
