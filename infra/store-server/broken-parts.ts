import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import type { Engine } from './engine.ts';

/** The name of a part: partition, first and last block, level, and the mutation that it was rewritten by, if any. */
const PART = /^(?<partition>[^_]+)_(?<first>\d+)_(?<last>\d+)_(?<level>\d+)(?:_(?<mutation>\d+))?$/;
/** The folder to which the engine moves a part that it cannot use. */
const PUT_ASIDE = /^broken-on-start_(?<part>.+?)(?:_try\d+)?$/;

interface TablePart {
  readonly name: string;
  readonly partition: string;
  readonly first: number;
  readonly last: number;
  /** Number of times that it was merged or rewritten. */
  readonly age: number;
}

/** The parts in the folder of a table before the engine opened it. */
type PartsOfTable = ReadonlyMap<string, TablePart>;

/**
 * Parts that the engine puts aside at its start because they are incomplete. If the source parts of a broken one are on
 * the disk, the engine uses them, and nothing is missing; otherwise rows may be. Made before the engine opens the
 * folder: the names of all parts show which it will take.
 */
export class BrokenParts {
  readonly #engine: Engine;
  readonly #before: ReadonlyMap<string, PartsOfTable>;
  readonly #log: Logger;
  /** Number of parts put aside with possibly missing rows. */
  count = 0;

  constructor({ engine, before, log }: BrokenPartsOptions) {
    this.#engine = engine;
    this.#before = before;
    this.#log = log;
  }

  /**
   * Removes parts that were put aside and are not needed, and names the ones whose rows may be missing. After a failed write, an incomplete
   * insert was not acknowledged, so its client repeats it.
   */
  async review({ afterFailedWrite }: { readonly afterFailedWrite: boolean }): Promise<void> {
    let missing = 0;
    for (const { table, name, folder } of await this.#putAside()) {
      const part = partOf(PUT_ASIDE.exec(name)?.groups?.part ?? '');
      const before = this.#before.get(join(folder, '..', '..'));
      const isNew = part !== undefined && before?.has(part.name) === true;
      const facts = { table, part: name, rows: rowsOf(folder), path: folder };
      if (isNew && isReplaced(part, before)) {
        this.#log.warn(facts, 'a part was incomplete; the parts that it was made from are in its place');
      } else if (isNew && part.age === 0 && afterFailedWrite) {
        this.#log.warn(
          facts,
          'an insert was incomplete; it was not acknowledged, and is repeated by its client',
        );
      } else {
        missing += 1;
        this.#log.error(
          facts,
          'a part is broken and lies aside: its rows may be missing, see FootfallStoreBrokenParts',
        );
        continue;
      }
      rmSync(folder, { recursive: true, force: true });
    }
    this.count = missing;
  }

  async #putAside() {
    const sql = `SELECT concat(database, '.', table), name, path FROM system.detached_parts
      WHERE startsWith(name, 'broken-on-start_') ORDER BY ALL`;
    const lines = (await this.#engine.rows(sql)).map((row) => row.map(String));
    return lines.map(([table = '', name = '', folder = '']) => ({
      table,
      name,
      folder: folder.replace(/\/$/, ''),
    }));
  }
}

export interface BrokenPartsOptions {
  readonly engine: Engine;
  readonly before: ReadonlyMap<string, PartsOfTable>;
  readonly log: Logger;
}

/** The parts of all tables in the engine's folder, by the folder of the table. */
export function partsOnDisk(folder: string): ReadonlyMap<string, PartsOfTable> {
  const tables = foldersIn(join(folder, 'store')).flatMap((group) => foldersIn(group));
  return new Map(
    tables.map((table) => [
      table,
      new Map(
        foldersIn(table).flatMap((path) => {
          const part = partOf(path.slice(table.length + 1));
          return part === undefined ? [] : [[part.name, part] as const];
        }),
      ),
    ]),
  );
}

/** True if the parts that a broken one was made from are there: they begin and end with it. The engine removes them together. */
function isReplaced(broken: TablePart, before: PartsOfTable): boolean {
  const sources = [...before.values()].filter(
    ({ partition, first, last, age, name }) =>
      name !== broken.name &&
      partition === broken.partition &&
      first >= broken.first &&
      last <= broken.last &&
      age < broken.age,
  );
  return (
    sources.some(({ first }) => first === broken.first) && sources.some(({ last }) => last === broken.last)
  );
}

function partOf(name: string): TablePart | undefined {
  const groups = PART.exec(name)?.groups;
  if (groups === undefined) return undefined;
  const { partition = '', first, last, level, mutation = '0' } = groups;
  return { name, partition, first: Number(first), last: Number(last), age: Number(level) + Number(mutation) };
}

/** Undefined if the file with the number is incomplete, too. */
function rowsOf(folder: string): number | undefined {
  try {
    const text = readFileSync(join(folder, 'count.txt'), 'utf8').trim();
    return text === '' ? undefined : Number(text);
  } catch {
    return undefined;
  }
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
