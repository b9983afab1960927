import { BlockList } from 'node:net';
import type { Site } from '../../infra/accounts/accounts.ts';
import { readAddressRange } from '../../infra/network/address-range.ts';

/** What a site may want to be left out. Each is a kind of tally. */
export const FILTER_KINDS = ['address', 'profile', 'name', 'path'] as const;
export type FilterKind = (typeof FILTER_KINDS)[number];

/** What a filter looks at. Texts; empty when a request says nothing of it. */
export interface FilterSubject {
  readonly address: string;
  readonly profileId: string;
  readonly name: string;
  readonly path: string;
}

/**
 * The filters of sites, made ready once for each version of a site's settings. Addresses: single ones and CIDR ranges;
 * paths: as they are, or with `*` for any run of characters; names and profile ids: as they are.
 */
export class SiteFilters {
  readonly #compiled = new WeakMap<Site['filters'], CompiledFilters>();

  /** Whether the site filters anything. */
  hasFilters({ filters: { addresses, profileIds, names, paths } }: Site): boolean {
    return addresses.length + profileIds.length + names.length + paths.length > 0;
  }

  /** Why the site does not want this; undefined when it does. */
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

  /** An entry that is no address filters nothing: it must not stop the site's events. */
  #addAddress(entry: string): void {
    const range = readAddressRange(entry);
    if (range !== undefined) this.#addresses.addSubnet(range.network, range.prefix, range.family);
  }
}

/** A path with `*` for any run of characters, matched piece by piece: its time grows with the path, never beyond. */
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
