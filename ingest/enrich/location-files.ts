import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../infra/log.ts';
import { LocationDatabase } from './location-database.ts';

const FILES_MAX = 8;
const FILE_MAX_BYTES = 1_073_741_824;

/** The facts that distinguish one version of a file from another. */
interface Stamp {
  readonly size: number;
  readonly changedMs: number;
  readonly inode: number;
}

interface ReadFile {
  readonly stamp: Stamp;
  /** The reason why the content could not be used; it is not tried again until the stamp changes. */
  readonly reason: string | undefined;
}

/**
 * The databases at one path: a file, or a folder whose `.mmdb` files are used together. While a file is missing, half written or broken,
 * the previous databases stay in use, until all files can be used again.
 */
export class LocationFiles {
  readonly #path: string;
  readonly #isInMemory: boolean;
  readonly #log: Logger;
  readonly #read = new Map<string, ReadFile>();
  #loaded = new Map<string, LocationDatabase>();
  #failures = '';

  constructor({ path, isInMemory, log }: { path: string; isInMemory: boolean; log: Logger }) {
    this.#path = path;
    this.#isInMemory = isInMemory;
    this.#log = log;
  }

  /** In the order of look-up: databases of cities first, and the latest of these first. */
  get databases(): readonly LocationDatabase[] {
    return [...this.#loaded.values()].sort(
      (left, right) =>
        Number(right.knowsCities) - Number(left.knowsCities) || right.builtAtMs - left.builtAtMs,
    );
  }

  get isFailing(): boolean {
    return this.#failures !== '';
  }

  /** Reads changed files. True when the databases have changed. Never throws. */
  async refresh(): Promise<boolean> {
    const failures: string[] = [];
    const found = await this.#list(failures);
    let changed = false;
    const isAlone = found.length === 1;
    for (const file of found) changed = (await this.#refreshFile(file, isAlone, failures)) || changed;
    if (failures.length === 0 && !found.some((file) => this.#loaded.has(file)))
      failures.push(`${this.#path}: found no database with countries`);
    if (failures.length === 0) changed = this.#dropAllBut(found) || changed;
    this.#report(failures);
    return changed;
  }

  async #list(failures: string[]): Promise<readonly string[]> {
    try {
      if (!(await stat(this.#path)).isDirectory()) return [this.#path];
      const names = (await readdir(this.#path)).filter((name) => name.endsWith('.mmdb')).sort();
      if (names.length === 0) failures.push(`${this.#path}: contains no .mmdb file`);
      if (names.length > FILES_MAX)
        failures.push(
          `${this.#path}: contains more than ${FILES_MAX} .mmdb files, only the first ${FILES_MAX} are used`,
        );
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
      if (stamp.size > FILE_MAX_BYTES)
        return this.#reject(file, stamp, `larger than ${FILE_MAX_BYTES} bytes`, failures);
      const bytes = this.#isInMemory ? await readFile(file) : undefined;
      if (!isSame(stamp, await stampOf(file))) {
        failures.push(`${file}: being written`);
        return false;
      }
      const parsed = bytes === undefined ? LocationDatabase.open(file) : LocationDatabase.parse(bytes);
      // Beside other databases, one of something else, such as network operators, is ignored.
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
    this.#log.info({ file, type: database.type, builtAt, sizeBytes: stamp.size }, 'location database read');
  }

  /** Drops files that no longer exist. */
  #dropAllBut(found: readonly string[]): boolean {
    const before = this.#loaded.size;
    for (const file of this.#read.keys()) if (!found.includes(file)) this.#read.delete(file);
    this.#loaded = new Map([...this.#loaded].filter(([file]) => found.includes(file)));
    return this.#loaded.size !== before;
  }

  /** Logs one line when the problems change. */
  #report(failures: readonly string[]): void {
    const text = failures.join('; ');
    if (text === this.#failures) return;
    this.#failures = text;
    if (text === '') this.#log.info({ path: this.#path }, 'location databases can be read again');
    else if (this.#loaded.size > 0)
      this.#log.warn({ failures }, 'a location database cannot be read, the data in use stays');
    else this.#log.error({ failures }, 'no location database can be read, locations stay empty');
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
