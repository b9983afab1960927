import { BlockList } from 'node:net';
import type { Site } from '../../infra/accounts/accounts.ts';
import { readAddressRange } from '../../infra/network/address-range.ts';

/** What a site's filters look at. Each is a reason in the tallies. */
export const FILTER_KINDS = ['address', 'profile', 'name', 'path'] as const;
export type FilterKind = (typeof FILTER_KINDS)[number];

/** The values that filters are compared with; empty when the request does not give one. */
export interface FilterSubject {
  readonly address: string;
  readonly profileId: string;
  readonly name: string;
  readonly path: string;
}

/**
 * The filters of sites, compiled once per version of a site's settings. Addresses are single ones or CIDR ranges; in
 * paths `*` stands for any run of characters; names and profile ids match as they are.
 */
export class SiteFilters {
  readonly #compiled = new WeakMap<Site['filters'], CompiledFilters>();

  /** Whether the site has any filter. */
  hasFilters({ filters: { addresses, profileIds, names, paths } }: Site): boolean {
    return addresses.length + profileIds.length + names.length + paths.length > 0;
  }

  /** Which kind of filter excludes this; undefined when none does. */
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
  readonly #addresses = new BlockList();
  readonly #profileIds: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #paths: readonly PathPattern[];

  constructor(filters: Site['filters']) {
    for (const entry of filters.addresses) this.#addAddress(entry);
    this.#profileIds = new Set(filters.profileIds);
    this.#names = new Set(filters.names);
    this.#paths = filters.paths.map((path) => new PathPattern(path));
  }

  excludedBy({ address, profileId, name, path }: FilterSubject): FilterKind | undefined {
    if (address !== '' && this.#addresses.check(address, address.includes(':') ? 'ipv6' : 'ipv4'))
      return 'address';
    if (profileId !== '' && this.#profileIds.has(profileId)) return 'profile';
    if (name !== '' && this.#names.has(name)) return 'name';
    return path !== '' && this.#paths.some((pattern) => pattern.matches(path)) ? 'path' : undefined;
  }

  /** An entry that is not an address filters nothing: it must not stop the site's events. */
  #addAddress(entry: string): void {
    const range = readAddressRange(entry);
    if (range !== undefined) this.#addresses.addSubnet(range.network, range.prefix, range.family);
  }
}

/**
 * A path in which `*` stands for any run of characters. It is matched piece by piece, in time proportional to the path.
 */
class PathPattern {
  readonly #pieces: readonly string[];

  constructor(pattern: string) {
    this.#pieces = pattern.split('*');
  }

  matches(path: string): boolean {
    const first = this.#pieces[0] ?? '';
    const last = this.#pieces.at(-1) ?? '';
    if (this.#pieces.length === 1) return path === first;
    if (path.length < first.length + last.length || !path.startsWith(first) || !path.endsWith(last))
      return false;
    let from = first.length;
    for (const piece of this.#pieces.slice(1, -1)) {
      const at = path.indexOf(piece, from);
      if (at < 0) return false;
      from = at + piece.length;
    }
    return from <= path.length - last.length;
  }
}
