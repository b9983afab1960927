import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const PAGE_BYTES = 4_096;
/** 4 MB: the upper levels of a tree and the latest pages. A power of two. */
const PAGES = 1_024;
/** The bytes that `at` promises to be in one piece. They are read along behind each page. */
export const PIECE_BYTES = 64;
const SLOT_BYTES = PAGE_BYTES + PIECE_BYTES;

/** Closes the files of readers that are no longer used. */
const files = new FinalizationRegistry<number>((file) => closeSync(file));

/**
 * Short pieces of a file. The pages that were read last are held in memory: each page has one slot, which it shares with
 * others, and the newest of them has it. So a look-up takes one comparison, and a replacement allocates nothing.
 */
export class FilePages {
  /** The size of the file. */
  readonly bytes: number;
  /** The bytes that the places refer to. Their content changes with each call of `at`. */
  readonly held = Buffer.alloc(PAGES * SLOT_BYTES);
  readonly #numbers = new Int32Array(PAGES).fill(-1);
  readonly #file: number;

  /** Throws when the file cannot be opened. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    files.register(this, this.#file);
    this.bytes = fstatSync(this.#file).size;
  }

  /**
   * The place in `held` of the byte at `offset` of the file, with the `PIECE_BYTES` behind it, as far as the file has them. Throws at the
   * end of the file.
   */
  at(offset: number): number {
    if (!(offset < this.bytes)) throw new Error('the file ends too early');
    const number = Math.floor(offset / PAGE_BYTES);
    const slot = number & (PAGES - 1);
    if (this.#numbers[slot] !== number) this.#read(number, slot);
    return slot * SLOT_BYTES + (offset - number * PAGE_BYTES);
  }

  /** A copy of a part of the file. */
  slice(from: number, to: number): Buffer {
    const bytes = Buffer.alloc(to - from);
    readSync(this.#file, bytes, 0, bytes.length, from);
    return bytes;
  }

  #read(number: number, slot: number): void {
    const start = number * PAGE_BYTES;
    const length = Math.min(SLOT_BYTES, this.bytes - start);
    this.#numbers[slot] = -1;
    if (readSync(this.#file, this.held, slot * SLOT_BYTES, length, start) !== length)
      throw new Error('the file ends too early');
    this.#numbers[slot] = number;
  }
}
