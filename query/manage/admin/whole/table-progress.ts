import type { NoteWriter } from '../table.ts';

const NOTE_EVERY_MS = 2_000;

/** Reports to an operator how many files of a table are done: every two seconds, and at the end. */
export class TableProgress {
  readonly #what: string;
  readonly #total: number;
  readonly #writeNote: NoteWriter;
  #files = 0;
  #rows = 0;
  #bytes = 0;
  #notedAtMs = performance.now();

  constructor(what: string, total: number, writeNote: NoteWriter) {
    this.#what = what;
    this.#total = total;
    this.#writeNote = writeNote;
  }

  /** Counts a file that is done. */
  add({ rows, bytes }: { readonly rows: number; readonly bytes: number }): void {
    this.#files += 1;
    this.#rows += rows;
    this.#bytes += bytes;
    const nowMs = performance.now();
    if (this.#files < this.#total && nowMs - this.#notedAtMs < NOTE_EVERY_MS) return;
    this.#notedAtMs = nowMs;
    const files = `${this.#files} of ${this.#total} files`;
    this.#writeNote(`${this.#what} ${files}, ${this.#rows} rows, ${sizeText(this.#bytes)}`);
  }
}

/** A number of bytes as people read it. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1_000 && unit < units.length - 1; unit += 1) size /= 1_000;
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
