import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Response } from 'mmdb-lib';
import { type Metadata, parseMetadata } from 'mmdb-lib/lib/metadata.js';
import { FilePages, PIECE_BYTES } from './file-pages.ts';

// mmdb-lib reads only from a buffer that holds the whole file, so the tree and the data section are read here. Its parser of
// the description is used, which needs the end of the file only.

const SEPARATOR_BYTES = 16;
/** Maximum nesting of values; a broken file could be endless. */
const DEPTH_MAX = 32;
const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** Records and parts of them that many records have, decoded: keys, countries, regions, cities. */
const DECODED_MAX = 4_000;
/** Nodes in the middle of the tree at which a look-up can begin; a power of two. They save more than half of its steps. */
const ENTRIES = 32_768;
const IPV4_ENTRY_BITS = 16;
const IPV6_ENTRY_BITS = 32;

/** A place in the file that moves on while values are read. */
interface FilePlace {
  at: number;
}

/** Looks networks up in a MaxMind DB file on the disk; holds 4 MB of its pages in memory. */
export class PagedReader {
  readonly metadata: Metadata;
  readonly bytes: number;
  readonly #pages: FilePages;
  readonly #dataStart: number;
  readonly #ipv4Node: number;
  /** By the place in the file, so that equal records are one object. */
  readonly #decoded = new LRUCache<number, { readonly value: unknown }>({ max: DECODED_MAX });
  /** The first bits of addresses, and their nodes; 0 where there is none. */
  readonly #entryKeys = new Uint32Array(ENTRIES);
  readonly #entryNodes = new Uint32Array(ENTRIES);

  /** Throws when the file cannot be opened, or does not end like a database. */
  constructor(path: string, descriptionMaxBytes: number) {
    this.#pages = new FilePages(path);
    this.bytes = this.#pages.bytes;
    this.metadata = parseMetadata(this.slice(Math.max(0, this.bytes - descriptionMaxBytes), this.bytes));
    this.#dataStart = this.metadata.searchTreeSize + SEPARATOR_BYTES;
    this.#ipv4Node = this.#ipv4Start();
  }

  /** A copy of a part of the file. */
  slice(from: number, to: number): Buffer {
    return this.#pages.slice(from, to);
  }

  /** The record of an address; null for none. Throws when it cannot be read. */
  get(address: string): Response | null {
    return this.getWithPrefixLength(address)[0];
  }

  /** The record of an address, and the length of its network's prefix. */
  getWithPrefixLength(address: string): [Response | null, number] {
    const bytes = ipaddr.parse(address).toByteArray();
    const bits = bytes.length * 8;
    const { nodeCount } = this.metadata;
    const { key, entryBits } = entryOf(bytes);
    const entry = (Math.imul(key, 0x9e3779b1) >>> 8) & (ENTRIES - 1);
    let node = this.#entryKeys[entry] === key ? (this.#entryNodes[entry] ?? 0) : 0;
    let depth = node === 0 ? 0 : entryBits;
    if (depth === 0 && bits === IPV4_BITS) node = this.#ipv4Node;
    for (; depth < bits && node < nodeCount; depth += 1) {
      if (depth === entryBits && key !== 0) {
        this.#entryKeys[entry] = key;
        this.#entryNodes[entry] = node;
      }
      node = this.#child(node, (((bytes[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1) as 0 | 1);
    }
    if (node <= nodeCount) return [null, depth];
    const at = node - nodeCount + this.metadata.searchTreeSize;
    return [this.#decodedAt(at, 0) as Response, depth];
  }

  #ipv4Start(): number {
    if (this.metadata.ipVersion === 4) return 0;
    let node = 0;
    for (let depth = 0; depth < IPV6_BITS - IPV4_BITS && node < this.metadata.nodeCount; depth += 1)
      node = this.#child(node, 0);
    return node;
  }

  #child(node: number, side: 0 | 1): number {
    const { recordSize, nodeByteSize } = this.metadata;
    const at = this.#pages.at(node * nodeByteSize);
    const { held } = this.#pages;
    if (recordSize === 24) return held.readUIntBE(at + 3 * side, 3);
    if (recordSize === 32) return held.readUInt32BE(at + 4 * side);
    const middle = held[at + 3] ?? 0;
    return side === 0
      ? (middle >> 4) * 0x1000000 + held.readUIntBE(at, 3)
      : (middle & 15) * 0x1000000 + held.readUIntBE(at + 4, 3);
  }

  /** The value at a place that others may name, too. */
  #decodedAt(at: number, depth: number): unknown {
    const known = this.#decoded.get(at);
    if (known !== undefined) return known.value;
    const value = this.#value({ at }, depth);
    this.#decoded.set(at, { value });
    return value;
  }

  /** The value at the place, which is moved past it. */
  #value(place: FilePlace, depth: number): unknown {
    if (depth > DEPTH_MAX) throw new Error('values are nested too deeply');
    const control = this.#byte(place.at++);
    let type = control >> 5;
    if (type === 1) return this.#decodedAt(this.#pointer(control, place), depth + 1);
    if (type === 0) type = 7 + this.#byte(place.at++);
    const size = this.#size(control & 31, place);
    switch (type) {
      case 2:
        return this.#text(place, size);
      case 3:
        return this.#take(place, 8).readDoubleBE();
      case 5:
      case 6:
        return this.#unsigned(place, size);
      case 7:
        return this.#map(place, size, depth);
      case 11:
        return Array.from({ length: size }, () => this.#value(place, depth + 1));
      case 14:
        return size !== 0;
      case 15:
        return this.#take(place, 4).readFloatBE();
      case 4: // Bytes and other numbers: no record of a location has one that is read.
      case 8:
      case 9:
      case 10:
        place.at += size;
        return null;
      default:
        throw new Error(`unknown type ${type}`);
    }
  }

  #map(place: FilePlace, size: number, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (let index = 0; index < size; index += 1) {
      const name = String(this.#value(place, depth + 1));
      map[name] = this.#value(place, depth + 1);
    }
    return map;
  }

  #pointer(control: number, place: FilePlace): number {
    const size = (control >> 3) & 3;
    const low = this.#uint(place.at, size + 1);
    place.at += size + 1;
    const high = size === 3 ? 0 : (control & 7) * 2 ** (8 * (size + 1));
    return this.#dataStart + high + low + ([0, 2_048, 526_336, 0][size] ?? 0);
  }

  #size(short: number, place: FilePlace): number {
    if (short < 29) return short;
    const bytes = short - 28;
    const more = this.#uint(place.at, bytes);
    place.at += bytes;
    return more + ([29, 285, 65_821][bytes - 1] ?? 0);
  }

  #unsigned(place: FilePlace, size: number): number {
    const value = this.#uint(place.at, size);
    place.at += size;
    return value;
  }

  #text(place: FilePlace, size: number): string {
    return this.#take(place, size).toString('utf8');
  }

  #take(place: FilePlace, size: number): Buffer {
    const { at } = place;
    place.at += size;
    if (place.at > this.bytes) throw new Error('the file ends too early');
    if (size > PIECE_BYTES) return this.slice(at, at + size);
    if (size === 0) return NOTHING;
    const start = this.#pages.at(at);
    return this.#pages.held.subarray(start, start + size);
  }

  /** A number of at most six bytes; 0 without any. */
  #uint(at: number, size: number): number {
    if (size === 0) return 0;
    return size <= UINT_BYTES_MAX ? this.#pages.held.readUIntBE(this.#pages.at(at), size) : Number.NaN;
  }

  #byte(at: number): number {
    return this.#pages.held[this.#pages.at(at)] ?? 0;
  }
}

const NOTHING = Buffer.alloc(0);
const UINT_BYTES_MAX = 6;

/** The start of a look-up: the first bits of an address as a key that distinguishes the families; 0 if it cannot start there. */
function entryOf(bytes: readonly number[]): { readonly key: number; readonly entryBits: number } {
  const [first = 0, second = 0, third = 0, fourth = 0] = bytes;
  if (bytes.length * 8 === IPV4_BITS) return { key: first * 256 + second, entryBits: IPV4_ENTRY_BITS };
  const key = first * 0x1000000 + second * 0x10000 + third * 256 + fourth;
  return { key: key > 0xffff ? key : 0, entryBits: IPV6_ENTRY_BITS };
}
