import { LRUCache } from 'lru-cache';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { Otherwise } from '../ways.ts';
import { type FinalizedBlocks, floorTo } from './rollup-spans.ts';

/** Maximum number of remembered hours and days, for all lookups of a process; about eight bytes each. */
const REMEMBERED_STARTS_MAX = 500_000;

/**
 * A block with its rolled-up hours or days. Block 0 is a flush and the hours of its late changes. Length 0 is the first
 * hour ever rolled up. By lane, `flushes` has the last flush in the rollup; it is empty until the rollup is written.
 */
type BlockRow = AnswerRow<'rollup-spans'>;

/** A block with rows in a table, and the days of these rows. */
export type TableRow = AnswerRow<'rollup-days'>;

/** The rows of a lookup, sorted, so that two lookups can be compared. */
interface Found {
  readonly blocks: readonly BlockRow[];
  /** Undefined for a question without a table of its own. */
  readonly inTable: readonly TableRow[] | undefined;
}

/** A running lookup of finalized hours and days. */
export interface BlocksLookup {
  /**
   * The result of `run` for the finalized hours and days, or for the reason why rows answer everything. It may run
   * twice, so it must change nothing but caches.
   *
   * The last result of the same lookup is usually still true, so `run` begins with it immediately. If the lookup then
   * finds the same, that run was right: invalidations and late marks stay, so there was none in between. Otherwise it
   * runs again.
   */
  answer<Answer>(run: (blocks: FinalizedBlocks | Otherwise) => Promise<Answer>): Promise<Answer>;
}

/** Last results of lookups, by their runner. */
const remembered = new WeakMap<StatementRunner, LRUCache<string, Found>>();

/**
 * Begins the lookup of finalized hours and days. A block counts if its rollup includes every flush that changed the
 * hour or day, and no hot row changes it.
 * @param lookup the statement; or the reason why rows answer everything, and then nothing runs
 * @param table one of `ADDED_ROLLUP_TABLES`, if the question reads it: a day counts only if the table has rows of its
 * block
 */
export function lookUpBlocks(
  history: StatementRunner,
  lookup: Statement<'rollup-spans'> | Otherwise,
  seam: Seam,
  table?: string,
): BlocksLookup {
  if (lookup instanceof Otherwise) return { answer: (run) => run(lookup) };
  const known = remembered.get(history) ?? newMemory(history);
  const key = JSON.stringify([lookup.parameters, table]);
  const before = known.get(key);
  let found: Found | undefined;
  const looking = askFound({ history, seam }, lookup, table, before).then((rows) => {
    known.set(key, rows);
    found = rows;
    return rows;
  });
  // Not awaited when the question fails earlier.
  looking.catch(() => {});
  return {
    answer: async (run) => {
      if (before === undefined || found !== undefined) return run(blocksOf(await looking, seam));
      const early = run(blocksOf(before, seam));
      early.catch(() => {});
      const now = await looking;
      return isSame(before, now) ? early : run(blocksOf(now, seam));
    },
  };
}

function newMemory(history: StatementRunner): LRUCache<string, Found> {
  const memory = new LRUCache<string, Found>({ maxSize: REMEMBERED_STARTS_MAX, sizeCalculation: startsIn });
  remembered.set(history, memory);
  return memory;
}

function startsIn({ blocks, inTable = [] }: Found): number {
  return [...blocks, ...inTable].reduce((sum, { starts }) => sum + starts.length, 1);
}

/**
 * Runs the lookup and, in parallel, the lookup of a table. The rows of a block in a table stay, so if the last result
 * had all days, the table is asked again only when the lookup finds other blocks.
 */
async function askFound(
  { history, seam }: { readonly history: StatementRunner; readonly seam: Seam },
  lookup: Statement<'rollup-spans'>,
  table: string | undefined,
  before: Found | undefined,
): Promise<Found> {
  const askBlocks = async () => (await history.ask(lookup, seam)).map(sorted).sort(byBlock);
  if (table === undefined) return { blocks: await askBlocks(), inTable: undefined };
  const { parameters } = lookup;
  const askTable = async () => {
    const statement: Statement<'rollup-days'> = {
      name: 'rollup-days',
      parameters,
      texts: { rollupTable: table },
    };
    return (await history.ask(statement, seam)).map(sorted).sort(byBlock);
  };
  if (before === undefined || !hasAllDays(before)) {
    const [blocks, inTable] = await Promise.all([askBlocks(), askTable()]);
    return { blocks, inTable };
  }
  const blocks = await askBlocks();
  return isSame(blocks, before.blocks) ? before : { blocks, inTable: await askTable() };
}

/** The table has rows of the last block of every day. */
function hasAllDays({ blocks, inTable = [] }: Found): boolean {
  const found = placesOf(inTable);
  const last = new Map<number, number>();
  for (const { seconds, block, starts } of blocks)
    if (seconds * 1000 === DAY_MS)
      for (const start of starts) last.set(start, Math.max(block, last.get(start) ?? 0));
  return [...last].every(([start, block]) => found.has(placeOf(start, block)));
}

function placesOf(rows: readonly TableRow[]): ReadonlySet<string> {
  return new Set(rows.flatMap(({ block, starts }) => starts.map((start) => placeOf(start, block))));
}

function placeOf(start: number, block: number): string {
  return `${start} ${block}`;
}

function sorted<Row extends TableRow>(row: Row): Row {
  return { ...row, starts: [...row.starts].sort((a, b) => a - b) };
}

function byBlock(one: TableRow & Partial<BlockRow>, other: TableRow & Partial<BlockRow>): number {
  const differences = [
    one.block - other.block,
    (one.seconds ?? 0) - (other.seconds ?? 0),
    (one.partition ?? 0) - (other.partition ?? 0),
    (one.flushes?.[0] ?? 0) - (other.flushes?.[0] ?? 0),
    (one.starts[0] ?? 0) - (other.starts[0] ?? 0),
  ];
  return differences.find((difference) => difference !== 0) ?? 0;
}

function isSame<Value>(one: Value, other: Value): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function blocksOf({ blocks: rows, inTable }: Found, seam: Seam): FinalizedBlocks {
  const lateFlushes = rows.filter(({ seconds, block }) => seconds > 0 && block === 0);
  const blocksOfLength = (lengthMs: number) => {
    const last = new Map<number, BlockRow>();
    for (const row of rows) {
      if (row.block === 0 || row.seconds * 1000 !== lengthMs) continue;
      for (const start of row.starts) if ((last.get(start)?.block ?? 0) < row.block) last.set(start, row);
    }
    for (const { partition: lane, flushes, starts } of lateFlushes) {
      for (const hour of starts) {
        const start = floorTo(hour, lengthMs / 1000);
        if ((last.get(start)?.flushes[lane] ?? 0) < (flushes[0] ?? 0)) last.delete(start);
      }
    }
    for (const hourMs of seam.hotHours) last.delete(floorTo(hourMs, lengthMs) / 1000);
    const written = [...last].filter(([, { flushes }]) => flushes.length > 0);
    return new Map(written.map(([start, { block }]) => [start, block]));
  };
  const firstHour = rows.find(({ seconds }) => seconds === 0)?.starts[0] ?? 0;
  const changed = new Set([...seam.hotHours].map((hourMs) => hourMs / 1000));
  for (const { seconds, starts } of rows)
    if (seconds * 1000 === HOUR_MS) for (const start of starts) changed.add(start);
  return {
    hours: blocksOfLength(HOUR_MS),
    days: daysInTable(blocksOfLength(DAY_MS), inTable),
    isEmpty: (hour) => hour < firstHour && !changed.has(hour),
  };
}

function daysInTable(
  days: ReadonlyMap<number, number>,
  inTable: readonly TableRow[] | undefined,
): ReadonlyMap<number, number> {
  if (inTable === undefined) return days;
  const found = placesOf(inTable);
  return new Map([...days].filter(([start, block]) => found.has(placeOf(start, block))));
}
