import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import type { Response } from 'mmdb-lib';
import { type Metadata, parseMetadata } from 'mmdb-lib/lib/metadata.js';

// mmdb-lib reads only from a buffer that holds the whole file, so the tree and the data section are read here. Its parser of
// the description is used, which needs the end of the file only.

const PAGE_BYTES = 4_096;
/** 2 MB: the upper levels of the tree and what was looked up last. */
const PAGES_MAX = 512;
const SEPARATOR_BYTES = 16;
/** The most values around another one; a broken file could be endless. */
const DEPTH_MAX = 32;
const IPV4_BITS = 32;
const IPV6_BITS = 128;

/** Closes the files of readers that are no longer used. */
const files = new FinalizationRegistry<number>((file) => closeSync(file));

/** A place in the file that moves on while values are read. */
interface FilePlace {
  at: number;
}

/** Looks networks up in a MaxMind DB file on the disk, of which it holds `PAGES_MAX` pages in memory. */
export class PagedReader {
  readonly metadata: Metadata;
  readonly bytes: number;
  readonly #file: number;
  readonly #pages = new Map<number, Buffer>();
  #last: Buffer = Buffer.alloc(0);
  #lastNumber = -1;
  readonly #dataStart: number;
  readonly #ipv4Node: number;

  /** Throws when the file cannot be opened, or its end is not that of a database. */
  constructor(path: string, descriptionMaxBytes: number) {
    this.#file = openSync(path, 'r');
    files.register(this, this.#file);
    this.bytes = fstatSync(this.#file).size;
    this.metadata = parseMetadata(this.slice(Math.max(0, this.bytes - descriptionMaxBytes), this.bytes));
    this.#dataStart = this.metadata.searchTreeSize + SEPARATOR_BYTES;
    this.#ipv4Node = this.#ipv4Start();
  }

  /** A copy of a part of the file. */
  slice(from: number, to: number): Buffer {
    const bytes = Buffer.alloc(to - from);
    readSync(this.#file, bytes, 0, bytes.length, from);
    return bytes;
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
    let node = bits === IPV4_BITS ? this.#ipv4Node : 0;
    let depth = 0;
    for (; depth < bits && node < nodeCount; depth += 1)
      node = this.#child(node, (((bytes[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1) as 0 | 1);
    if (node <= nodeCount) return [null, depth];
    const at = node - nodeCount + this.metadata.searchTreeSize;
    return [this.#value({ at }, 0) as Response, depth];
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
    const at = node * nodeByteSize;
    if (recordSize === 24) return this.#uint(at + 3 * side, 3);
    if (recordSize === 32) return this.#uint(at + 4 * side, 4);
    const middle = this.#byte(at + 3);
    return side === 0
      ? (middle >> 4) * 0x1000000 + this.#uint(at, 3)
      : (middle & 15) * 0x1000000 + this.#uint(at + 4, 3);
  }

  /** The value at the place, which is moved behind it. */
  #value(place: FilePlace, depth: number): unknown {
    if (depth > DEPTH_MAX) throw new Error('values are nested too deeply');
    const control = this.#byte(place.at++);
    let type = control >> 5;
    if (type === 1) return this.#value({ at: this.#pointer(control, place) }, depth + 1);
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
    const page = this.#page(at);
    const start = at % PAGE_BYTES;
    return start + size <= page.length ? page.subarray(start, start + size) : this.slice(at, at + size);
  }

  #uint(at: number, size: number): number {
    let value = 0;
    for (let index = 0; index < size; index += 1) value = value * 256 + this.#byte(at + index);
    return value;
  }

  #byte(at: number): number {
    const byte = this.#page(at)[at % PAGE_BYTES];
    if (byte === undefined) throw new Error('the file ends too early');
    return byte;
  }

  #page(at: number): Buffer {
    const number = Math.floor(at / PAGE_BYTES);
    // Most reads are beside the one before.
    if (number === this.#lastNumber) return this.#last;
    this.#last = this.#cached(number);
    this.#lastNumber = number;
    return this.#last;
  }

  #cached(number: number): Buffer {
    let page = this.#pages.get(number);
    if (page !== undefined) return page;
    // The page that was read first is evicted; the upper levels come back with the next look-up.
    if (this.#pages.size >= PAGES_MAX)
      for (const first of this.#pages.keys()) {
        this.#pages.delete(first);
        break;
      }
    page = Buffer.alloc(PAGE_BYTES);
    const bytes = readSync(this.#file, page, 0, PAGE_BYTES, number * PAGE_BYTES);
    page = page.subarray(0, bytes);
    this.#pages.set(number, page);
    return page;
  }
}
