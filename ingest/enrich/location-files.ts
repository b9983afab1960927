import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../infra/log.ts';
import { LocationDatabase } from './location-database.ts';

const FILES_MAX = 8;
const FILE_MAX_BYTES = 1_073_741_824;

/** How a file looked when it was read; another look means other content. */
interface Stamp {
  readonly size: number;
  readonly changedMs: number;
  readonly inode: number;
}

interface ReadFile {
  readonly stamp: Stamp;
  /** Undefined when the content could not be used, which is not tried again while the stamp stays. */
  readonly reason: string | undefined;
}

/**
 * The databases at one path: a file, or a folder whose `.mmdb` files are used together. A file that is away, half
 * written or broken leaves what was read of it before in use, until everything that is there can be used again.
 */
export class LocationFiles {
  readonly #path: string;
  readonly #log: Logger;
  readonly #read = new Map<string, ReadFile>();
  #loaded = new Map<string, LocationDatabase>();
  #failures = '';

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** In the order in which they are to be asked: those that know cities first, of these the latest. */
  get databases(): readonly LocationDatabase[] {
    return [...this.#loaded.values()].sort(
      (left, right) =>
        Number(right.knowsCities) - Number(left.knowsCities) || right.builtAtMs - left.builtAtMs,
    );
  }

  get isFailing(): boolean {
    return this.#failures !== '';
  }

  /** Reads what has changed. True when the databases are others than before. Never throws. */
  async refresh(): Promise<boolean> {
    const failures: string[] = [];
    const found = await this.#list(failures);
    let changed = false;
    const isAlone = found.length === 1;
    for (const file of found) changed = (await this.#refreshFile(file, isAlone, failures)) || changed;
    if (failures.length === 0 && !found.some((file) => this.#loaded.has(file)))
      failures.push(`${this.#path}: no database there knows places`);
    if (failures.length === 0) changed = this.#dropAllBut(found) || changed;
    this.#report(failures);
    return changed;
  }

  async #list(failures: string[]): Promise<readonly string[]> {
    try {
      if (!(await stat(this.#path)).isDirectory()) return [this.#path];
      const names = (await readdir(this.#path)).filter((name) => name.endsWith('.mmdb')).sort();
      if (names.length === 0) failures.push(`${this.#path}: holds no .mmdb file`);
      if (names.length > FILES_MAX)
        failures.push(`${this.#path}: holds more than ${FILES_MAX} .mmdb files; the first are used`);
      return names.slice(0, FILES_MAX).map((name) => join(this.#path, name));
    } catch (error) {
      failures.push(`${this.#path}: ${codeOf(error)}`);
      return [];
    }
  }

  async #refreshFile(file: string, isAlone: boolean, failures: string[]): Promise<boolean> {
    try {
      const stamp = await stampOf(file);
      const known = this.#read.get(file);
      if (known !== undefined && isSame(known.stamp, stamp)) {
        if (known.reason !== undefined) failures.push(`${file}: ${known.reason}`);
        return false;
      }
      if (stamp.size > FILE_MAX_BYTES) return this.#reject(file, stamp, 'it is too large', failures);
      const bytes = await readFile(file);
      if (!isSame(stamp, await stampOf(file))) {
        failures.push(`${file}: it is being written`);
        return false;
      }
      const parsed = LocationDatabase.parse(bytes);
      // Beside others a database of something else, as of network operators, is left alone.
      if (parsed.kind === 'no-countries' && !isAlone && !this.#loaded.has(file)) {
        this.#read.set(file, { stamp, reason: undefined });
        return false;
      }
      if (parsed.kind !== 'database') return this.#reject(file, stamp, parsed.reason, failures);
      this.#take(file, stamp, parsed.database);
      return true;
    } catch (error) {
      failures.push(`${file}: ${codeOf(error)}`);
      return false;
    }
  }

  #reject(file: string, stamp: Stamp, reason: string, failures: string[]): false {
    this.#read.set(file, { stamp, reason });
    failures.push(`${file}: ${reason}`);
    return false;
  }

  #take(file: string, stamp: Stamp, database: LocationDatabase): void {
    this.#read.set(file, { stamp, reason: undefined });
    this.#loaded.set(file, database);
    const builtAt = new Date(database.builtAtMs).toISOString();
    this.#log.info({ file, type: database.type, builtAt, sizeBytes: stamp.size }, 'place database read');
  }

  /** Forgets files that are gone. */
  #dropAllBut(found: readonly string[]): boolean {
    const before = this.#loaded.size;
    for (const file of this.#read.keys()) if (!found.includes(file)) this.#read.delete(file);
    this.#loaded = new Map([...this.#loaded].filter(([file]) => found.includes(file)));
    return this.#loaded.size !== before;
  }

  /** One line when what is wrong changes. */
  #report(failures: readonly string[]): void {
    const text = failures.join('; ');
    if (text === this.#failures) return;
    this.#failures = text;
    if (text === '') this.#log.info({ path: this.#path }, 'place databases can be read again');
    else if (this.#loaded.size > 0)
      this.#log.warn({ failures }, 'place databases: what was read before stays in use');
    else this.#log.error({ failures }, 'place databases: none can be read, places stay empty');
  }
}

async function stampOf(file: string): Promise<Stamp> {
  const { size, mtimeMs, ino } = await stat(file);
  return { size, changedMs: mtimeMs, inode: ino };
}

function isSame(left: Stamp, right: Stamp): boolean {
  return left.size === right.size && left.changedMs === right.changedMs && left.inode === right.inode;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
