import { LRUCache } from 'lru-cache';
import { Reader, type Response } from 'mmdb-lib';
import { PagedReader } from './location-pages.ts';
import { type Location, locationOf, NO_LOCATION } from './location-record.ts';

/** The part at the end of a file in which the format puts its metadata. */
const DESCRIPTION_MAX_BYTES = 131_072;
const DESCRIPTION_MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const SEPARATOR_BYTES = 16;
/** Networks that are tried before a database counts as one without countries. */
const PROBES_MAX = 4_096;

/** Decoded parts of records that are cached, of 100 bytes to a few KB each. The visitors of a site come from few places. */
const DECODED_MAX = 10_000;

/** A database, or why it cannot be used; the reason is fit for logs. */
export type ParsedDatabase =
  | { readonly kind: 'database'; readonly database: LocationDatabase }
  | { readonly kind: 'broken'; readonly reason: string }
  | { readonly kind: 'no-countries'; readonly reason: string };

const BROKEN: ParsedDatabase = { kind: 'broken', reason: 'not a complete MaxMind DB file' };

/** Looks networks up: in memory, or in a file. */
type NetworkReader = Pick<Reader<Response>, 'metadata' | 'get' | 'getWithPrefixLength'>;

/** One file of networks and their locations. */
export class LocationDatabase {
  readonly #reader: NetworkReader;
  readonly #districts: boolean;
  /** By record, for as long as the decoded record is cached: all addresses of a network share one location in memory. */
  readonly #locations = new WeakMap<object, Location>();
  #unreadable = 0;

  private constructor(reader: NetworkReader) {
    this.#reader = reader;
    // Only DB-IP appends districts to city names; the flat records are made from its data.
    this.#districts = /^(DBIP|city ipv)/i.test(reader.metadata.databaseType);
  }

  /** Parses and tries a database; `bytes` are retained, not copied. */
  static parse(bytes: Buffer): ParsedDatabase {
    const slice = (from: number, to: number) => bytes.subarray(from, to);
    // The package types its cached values as `any`.
    const cache = new LRUCache<string | number, object>({ max: DECODED_MAX });
    return tried({ bytes: bytes.length, slice, open: () => new Reader<Response>(bytes, { cache }) });
  }

  /**
   * Tries a database that stays on the disk. Each new address then takes some 5 µs more, and the file must be replaced by
   * renaming another one to it. Throws when the file cannot be opened.
   */
  static open(path: string): ParsedDatabase {
    try {
      const reader = new PagedReader(path, DESCRIPTION_MAX_BYTES);
      const slice = (from: number, to: number) => reader.slice(from, to);
      return tried({ bytes: reader.bytes, slice, open: () => reader });
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) throw error;
      return BROKEN;
    }
  }

  /** A database that was tried; undefined when it has no countries. */
  static of(reader: NetworkReader): LocationDatabase | undefined {
    const database = new LocationDatabase(reader);
    return database.#knowsCountries() ? database : undefined;
  }

  /** The time at which its publisher built it. */
  get builtAtMs(): number {
    return this.#reader.metadata.buildEpoch.getTime();
  }

  /** Its type as the publisher names it, such as `GeoLite2-City`. */
  get type(): string {
    return this.#reader.metadata.databaseType;
  }

  /** According to its type; other databases may know countries only. */
  get knowsCities(): boolean {
    return /city|location|enterprise/i.test(this.type);
  }

  /** Records that were looked up and could not be read. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** True if it covers a family of addresses. A database of IPv6 also holds addresses of IPv4. */
  covers(family: 4 | 6): boolean {
    return family === 4 || this.#reader.metadata.ipVersion === 6;
  }

  of(address: string): Location {
    try {
      const record: unknown = this.#reader.get(address);
      // A database may contain anything.
      if (typeof record !== 'object' || record === null) return NO_LOCATION;
      let location = this.#locations.get(record);
      if (location === undefined) {
        location = locationOf(record, { districts: this.#districts });
        this.#locations.set(record, location);
      }
      return location;
    } catch {
      this.#unreadable += 1;
      return NO_LOCATION;
    }
  }

  /** Reads networks in order until one has a country. Throws when a record cannot be read. */
  #knowsCountries(): boolean {
    const bits = this.#reader.metadata.ipVersion === 6 ? BITS[6] : BITS[4];
    let address = 0n;
    for (let probe = 0; probe < PROBES_MAX && address >> BigInt(bits) === 0n; probe += 1) {
      const [record, prefix] = this.#reader.getWithPrefixLength(written(address, bits));
      if (locationOf(record, { districts: false }).country !== '') return true;
      const size = 1n << BigInt(bits - prefix);
      address = (address / size + 1n) * size;
    }
    return false;
  }
}

interface DatabaseFile {
  readonly bytes: number;
  slice(from: number, to: number): Buffer;
  open(): NetworkReader;
}

function tried({ bytes, slice, open }: DatabaseFile): ParsedDatabase {
  const tailStart = Math.max(0, bytes - DESCRIPTION_MAX_BYTES);
  const mark = slice(tailStart, bytes).lastIndexOf(DESCRIPTION_MARK);
  // Without the mark the package would search the whole file for it, byte by byte.
  if (mark < 0) return BROKEN;
  try {
    const reader = open();
    const { nodeCount, searchTreeSize, ipVersion, buildEpoch } = reader.metadata;
    const treeEnd = searchTreeSize + SEPARATOR_BYTES;
    if (!(nodeCount > 0) || !(treeEnd <= tailStart + mark) || !(ipVersion in BITS)) return BROKEN;
    if (Number.isNaN(buildEpoch.getTime())) return BROKEN;
    if (slice(searchTreeSize, treeEnd).some((byte) => byte !== 0)) return BROKEN;
    const database = LocationDatabase.of(reader);
    if (database === undefined) return { kind: 'no-countries', reason: 'contains no countries' };
    return { kind: 'database', database };
  } catch {
    // Any error of the package means that the bytes are not a database.
    return BROKEN;
  }
}

const BITS = { 4: 32, 6: 128 } as const;

function written(address: bigint, bits: number): string {
  const [step, radix, separator] = bits === 32 ? ([8, 10, '.'] as const) : ([16, 16, ':'] as const);
  const groups: string[] = [];
  for (let at = bits - step; at >= 0; at -= step)
    groups.push(((address >> BigInt(at)) & ((1n << BigInt(step)) - 1n)).toString(radix));
  return groups.join(separator);
}
