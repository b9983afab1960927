/**
 * Our statements as replicas need them. One function for each kind, from text to text, so that the schema is written
 * once: for a single server. The statements are ours, in the style of `processor/schema`. An unknown kind is an error,
 * and never passes unchanged.
 *
 *     single server                                     cluster
 *     ENGINE = ReplacingMergeTree(version)              ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/…', '{replica}', version)
 *     non_replicated_deduplication_window = 1000        replicated_deduplication_window = 1000, …_seconds = 604800
 *     no window: two equal inserts are two              replicated_deduplication_window = 0, for the default would drop the second
 *     CREATE, ALTER, TRUNCATE                           the same ON CLUSTER
 *     DROP                                              the same ON CLUSTER … SYNC, so that the name is free immediately
 *     INSERT … SELECT, SELECT                           as they are: one replica runs it, and all get the rows
 *
 * ClickHouse Cloud makes every table a shared one and spreads every definition by itself, so only windows and SYNC
 * differ there.
 */

/**
 * The path by which replicas of a table find each other. The server replaces the braces; `{shard}` and `{replica}` are macros of its
 * configuration.
 */
const PATH = '/clickhouse/tables/{shard}/{database}/{table}';
const REPLICA = '{replica}';
/**
 * The deduplication window in seconds, for any number of inserts. Explicit, because the default depends on the release: a week, later an
 * hour.
 */
const KEYS_KNOWN_S = 604_800;

const COMMENTS = /^(?:\s*--.*\n)*\s*/;
const CREATE_DATABASE = /^(CREATE DATABASE (?:IF NOT EXISTS )?`?\w+`?)$/;
const CREATE_TABLE = /^(CREATE TABLE (?:IF NOT EXISTS )?\w+)(\s*\()/;
const ENGINE = /((?:^|\))\s*ENGINE = )(\w*MergeTree)(?:\(([^)\n]*)\))?/m;
const WINDOW = /\bnon_replicated_deduplication_window = (\d+)/;
const SETTINGS = /\bSETTINGS ((?:\w+ = \w+(?:,\s*)?)+)$/;
const CHANGE_TABLE = /^((?:ALTER TABLE|TRUNCATE TABLE IF EXISTS|DROP TABLE IF EXISTS) `?\w+`?)(?=\s|$)/;
const SYNC = /\sSYNC$/;

/** @throws {Error} the statement is of a kind that has no form for a cluster */
export function clusterText(statement: string, cluster: string): string {
  return replicasText(statement, { on: ` ON CLUSTER '${cluster}'`, engineOf: replicatedEngine });
}

/** @throws {Error} the statement is of a kind that has no form for ClickHouse Cloud */
export function cloudText(statement: string): string {
  return replicasText(statement, { on: '', engineOf: (text) => text });
}

interface ReplicasForm {
  /** The clause after the name in statements that make, change or drop something. */
  readonly on: string;
  /** The statement that makes a table, with the engine that it has on replicas. */
  engineOf(text: string): string;
}

function replicasText(statement: string, form: ReplicasForm): string {
  const start = COMMENTS.exec(statement)?.[0].length ?? 0;
  const comments = statement.slice(0, start);
  const text = statement.slice(start).trimEnd();
  const { on, engineOf } = form;
  if (/^(?:INSERT INTO|SELECT) /.test(text)) return comments + text;
  if (CREATE_DATABASE.test(text)) return comments + text + on;
  if (CREATE_TABLE.test(text))
    return comments + withWindow(engineOf(text)).replace(CREATE_TABLE, `$1${on}$2`);
  if (text.startsWith('DROP ') && !SYNC.test(text)) return replicasText(`${comments}${text} SYNC`, form);
  if (CHANGE_TABLE.test(text)) return comments + text.replace(CHANGE_TABLE, `$1${on}`);
  throw noForm(text, 'it is of another kind');
}

/**
 * Makes an empty table with the columns, the order and the settings of another one. With only `AS`, it would have the
 * other's place in the coordination service. `engineFull` is the other's in `system.tables`.
 * @throws {Error} the other table is not replicated
 */
export function tableLike(
  { table, like, engineFull }: { readonly table: string; readonly like: string; readonly engineFull: string },
  cluster: string,
): string {
  const replicated = /^(Replicated\w*MergeTree)\('[^']*', '[^']*'/;
  if (!replicated.test(engineFull)) throw noForm(engineFull, `${like} is not replicated`);
  const engine = engineFull.replace(replicated, `$1('${PATH}', '${REPLICA}'`);
  return `CREATE TABLE ${table} ON CLUSTER '${cluster}' AS ${like} ENGINE = ${engine}`;
}

function replicatedEngine(text: string): string {
  return text.replace(ENGINE, (_, is: string, engine: string, own = '') => {
    const parameters = own === '' ? '' : `, ${own}`;
    return `${is}Replicated${engine}('${PATH}', '${REPLICA}'${parameters})`;
  });
}

/** The statement that makes a table, with the deduplication window of replicas instead of a single server's. */
function withWindow(text: string): string {
  if (!ENGINE.test(text)) throw noForm(text, 'its engine is not of the MergeTree family');
  if (WINDOW.test(text))
    return text.replace(
      WINDOW,
      `replicated_deduplication_window = $1, replicated_deduplication_window_seconds = ${KEYS_KNOWN_S}`,
    );
  const none = 'replicated_deduplication_window = 0';
  return SETTINGS.test(text) ? text.replace(SETTINGS, `SETTINGS $1, ${none}`) : `${text}\nSETTINGS ${none}`;
}

function noForm(text: string, why: string): Error {
  return new Error(`no form for replicas, because ${why}: ${text.slice(0, 200)}`);
}
