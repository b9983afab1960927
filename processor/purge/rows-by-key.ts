import { randomBytes } from 'node:crypto';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import { countRows } from './tables.ts';

/**
 * Rows of a person are found by a query and changed by keys. The store keeps the text of a change (`system.mutations`, and on a cluster the
 * coordination service), and each replica evaluates it by itself. So the text holds no subquery, which replicas could answer differently,
 * and no name of a person:
 *
 *     SELECT DISTINCT key … WHERE they are the person's    once, on one server; its text and its values are not kept
 *     ALTER … WHERE key IN ['…', …]                        literal values, the same on every replica
 *
 * All affected rows are in the store before, because a lane answered the erase command, and none is added.
 */

/** A key has at most 60 bytes, so a statement stays below 70 kB: a node of the coordination service takes 1 MB, a bound value 128 KiB. */
const STATEMENT_KEYS_MAX = 1_000;
/** Statements that the store takes together, and the keys that are in memory at a time. */
const PAGE_KEYS_MAX = 10_000;
/** More than any site has documents. */
const MARKS_MAX = 2 ** 52;

/** Rows of one table that are about a person. Conditions and the key are constant text; values are bound. */
export interface FoundRows {
  readonly table: string;
  /** A condition on these rows; it may appear in the text of a change. */
  readonly scope: string;
  /** A condition on only these rows; it may look up names. */
  readonly found: string;
  /** An expression of type String. Its value names no person, and only these rows of the scope have it. */
  readonly key: string;
  readonly parameters: StoreParameters;
}

/** The session of an event, and the id of an event or of a session. */
export const SESSION_KEY = 'hex(sessionId)';
export const ID_KEY = 'hex(id)';
/** One state of a session: the row that made it true and the one that cancels it. */
export const STATE_KEY = "concat(hex(id), '-', toString(version))";

/** Changes rows for good: `DELETE` or `UPDATE …`. Returns their number. Rows that are already gone change nothing. */
export async function changeFound(store: Store, rows: FoundRows, change: string): Promise<number> {
  const { table, scope, found, key, parameters } = rows;
  const count = await countRows(store, { table, condition: `${scope} AND (${found})`, parameters });
  if (count === 0) return 0;
  const sql = `ALTER TABLE ${table} ${change} WHERE ${scope} AND ${key} IN {keys:Array(String)}`;
  for (let after = ''; ; ) {
    const keys = await keysOf(store, rows, after);
    await store.mutate(...pieces(keys).map((piece) => ({ sql, parameters: { ...parameters, keys: piece } })));
    const last = keys.at(-1);
    if (last === undefined || keys.length < PAGE_KEYS_MAX) return count;
    after = last;
  }
}

/** Rows of a table of documents; their key is made by `changeFoundDocuments`. */
export type FoundDocuments = Omit<FoundRows, 'key'>;

/**
 * Changes documents, whose id may name a person. So the key is the document's version, which is its message's, and its
 * times. If other documents of the site have the same ones, as after an import, a mark is added: a salted hash of the
 * id, cut to the few bits needed to distinguish them, so it cannot confirm a guessed name. Only a document of the same
 * message that is stored between this check and the change could be changed, too.
 */
export async function changeFoundDocuments(
  store: Store,
  rows: FoundDocuments,
  change: string,
): Promise<number> {
  const parameters = { ...rows.parameters, ...(await tellingMark(store, rows)) };
  return changeFound(store, { ...rows, key: DOCUMENT_KEY, parameters }, change);
}

const DOCUMENT_KEY = `concat(toString(version), '-', toString(toUnixTimestamp64Milli(createdAt)), '-',
  toString(toUnixTimestamp64Milli(updatedAt)), '-', toString(sipHash64({salt:String}, id) % {marks:UInt64}))`;

/** A salt, and the number of marks: the fewest for which no other document shares a key. */
async function tellingMark(
  store: Store,
  { table, scope, found, parameters }: FoundDocuments,
): Promise<{ readonly salt: string; readonly marks: number }> {
  const meant = `SELECT DISTINCT ${DOCUMENT_KEY} FROM ${table} WHERE ${scope} AND (${found})`;
  for (let marks = 1; marks <= MARKS_MAX; marks *= 2) {
    const salt = randomBytes(8).toString('hex');
    const others = await store.query(
      `SELECT 1 AS other FROM ${table} WHERE ${scope} AND NOT (${found}) AND ${DOCUMENT_KEY} IN (${meant}) LIMIT 1`,
      { ...parameters, salt, marks },
    );
    if (others.length === 0) return { salt, marks };
  }
  throw new Error(`${table}: no mark tells the documents of a person from others`);
}

/** The next keys, in their order. */
async function keysOf(
  store: Store,
  { table, scope, found, key, parameters }: FoundRows,
  after: string,
): Promise<readonly string[]> {
  const rows = await store.query<{ key: string }>(
    `SELECT DISTINCT ${key} AS key FROM ${table}
     WHERE ${scope} AND (${found}) AND key > {after:String} ORDER BY key LIMIT {keysMax:UInt32}`,
    { ...parameters, after, keysMax: PAGE_KEYS_MAX },
  );
  return rows.map((row) => row.key);
}

/** A list in pieces that a statement may name. */
export function pieces<Value>(values: readonly Value[]): readonly (readonly Value[])[] {
  const count = Math.ceil(values.length / STATEMENT_KEYS_MAX);
  return Array.from({ length: count }, (_, piece) =>
    values.slice(piece * STATEMENT_KEYS_MAX, (piece + 1) * STATEMENT_KEYS_MAX),
  );
}
