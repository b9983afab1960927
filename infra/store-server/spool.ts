import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exception } from './exceptions.ts';

// The engine reads these characters as a pattern for several files.
const PATTERN = /[*?{}[\]]/;

/**
 * Files for the rows of inserts and pipes for results. Files are not synced: the engine reads them immediately, and the kernel rarely
 * writes them to disk. The engine's own way to take rows after a statement is not safe for binary formats and buffers everything in memory.
 */
export class Spool {
  readonly folder: string;
  readonly #parent: string;
  readonly #bytesMax: number;
  #bytes = 0;
  #files = 0;

  /**
   * Uses a folder per process within `parent`: a second process, which is about to find the store in use, must not touch the files of the
   * first.
   */
  constructor({ parent, bytesMax }: { parent: string; bytesMax: number }) {
    this.#parent = parent;
    if (PATTERN.test(parent)) {
      this.folder = mkdtempSync(join(tmpdir(), 'footfall-store-'));
    } else {
      this.folder = join(parent, String(process.pid));
      rmSync(this.folder, { recursive: true, force: true });
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    }
    this.#bytesMax = bytesMax;
  }

  /** Deletes the files of earlier processes. Call only in the process that has opened the store. */
  removeLeftovers(): void {
    if (!existsSync(this.#parent)) return;
    for (const name of readdirSync(this.#parent)) {
      const path = join(this.#parent, name);
      if (path !== this.folder) rmSync(path, { recursive: true, force: true });
    }
  }

  /** Creates `count` named pipes, which live as long as the spool. */
  pipes(count: number): readonly string[] {
    const paths = Array.from({ length: count }, (_, index) => join(this.folder, `out-${index}`));
    execFileSync('mkfifo', ['-m', '600', ...paths]);
    return paths;
  }

  /** Creates an empty file and opens it. */
  async create(): Promise<SpoolFile> {
    this.#files += 1;
    const path = join(this.folder, `in-${this.#files}`);
    return new SpoolFile(path, await open(path, 'wx', 0o600), (bytes) => this.#take(bytes));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0 && this.#bytes > this.#bytesMax)
      throw exception(
        'NOT_ENOUGH_SPACE',
        `The rows of inserts in progress would exceed ${this.#bytesMax} bytes.`,
      );
  }
}

/** One body. Its bytes count towards the spool's limit until it is removed. */
export class SpoolFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #take: (bytes: number) => void;
  #length = 0;

  constructor(path: string, handle: FileHandle, take: (bytes: number) => void) {
    this.path = path;
    this.#handle = handle;
    this.#take = take;
  }

  get length(): number {
    return this.#length;
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    this.#take(bytes.length);
    try {
      await this.#handle.writeFile(bytes);
    } catch (error) {
      throw isDiskFull(error) ? exception('NOT_ENOUGH_SPACE', 'The disk of the store is full.') : error;
    }
  }

  /** Call after the last `append`. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  async remove(): Promise<void> {
    this.#take(-this.#length);
    this.#length = 0;
    await rm(this.path, { force: true });
  }
}

function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
