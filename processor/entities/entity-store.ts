import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Store } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { shortReasonOf } from '../fold/set-aside.ts';
import type { EntityDocument } from './document.ts';
import type { EntityName } from './entity-book.ts';
import { ENTITY_TABLES, type EntityTable } from './entity-tables.ts';
import { type UnstorableDocument, UnstorableError } from './unstorable.ts';

const INSERT_BYTES_MAX = 1_073_741_824;

/** The name of an entity, and its state in the store. */
export interface LoadedEntity {
  readonly name: EntityName;
  readonly document: EntityDocument | undefined;
}

/** The last stored state of entities, in the order of `names`. One query for each kind. */
export async function loadEntities(store: Store, names: readonly EntityName[]): Promise<LoadedEntity[]> {
  const loaded: LoadedEntity[] = [];
  for (const table of ENTITY_TABLES) {
    const wanted = names.filter(({ kind }) => kind === table.kind);
    if (wanted.length === 0) continue;
    const found = new Map<string, EntityDocument>();
    for (const document of await load(store, table, wanted))
      found.set(`${document.projectId}\n${document.id}`, document);
    for (const name of wanted) loaded.push({ name, document: found.get(`${name.projectId}\n${name.id}`) });
  }
  return loaded;
}

async function load(
  store: Store,
  table: EntityTable,
  names: readonly EntityName[],
): Promise<EntityDocument[]> {
  const rows = await store.query<Record<string, unknown>>(
    `SELECT ${table.select} FROM ${table.name}
     WHERE (projectId, id) IN (
       SELECT tupleElement(name, 1), tupleElement(name, 2)
       FROM (SELECT arrayJoin(arrayZip({projects:Array(String)}, {ids:Array(String)})) AS name)
     )
     ORDER BY version DESC LIMIT 1 BY projectId, id`,
    { projects: names.map(({ projectId }) => projectId), ids: names.map(({ id }) => id) },
  );
  return rows.map(table.read);
}

/**
 * Appends the documents; the store retains the highest version of each entity.
 * @throws {UnstorableError} when some cannot be stored, once all others are
 * @throws {StoreError}
 */
export async function insertEntities(store: Store, documents: readonly EntityDocument[]): Promise<void> {
  const unstorable: UnstorableDocument[] = [];
  for (const table of ENTITY_TABLES) {
    const ofKind = documents.filter(({ kind }) => kind === table.kind);
    if (ofKind.length === 0) continue;
    const refused = await insertOfKind(store, table, ofKind);
    // If none of several documents can be stored, the table is at fault.
    if (refused.length === ofKind.length && refused.length > 1)
      throw new Error(`${table.name} takes no rows: ${refused[0]?.reason}`);
    unstorable.push(...refused);
  }
  if (unstorable.length > 0) throw new UnstorableError(unstorable);
}

/** Inserts documents of one kind and returns those that cannot be stored, which it finds by halving. */
async function insertOfKind(
  store: Store,
  table: EntityTable,
  documents: readonly EntityDocument[],
): Promise<readonly UnstorableDocument[]> {
  try {
    const rows = encoded(table, documents);
    await store.insertRowBinary(table.name, table.columns, [rows], undefined);
    return [];
  } catch (error) {
    // The connection, the settings or the store itself: no document is the cause.
    if (error instanceof StoreError && error.kind !== 'poison') throw error;
    const [document] = documents;
    if (document === undefined || documents.length === 1)
      return document === undefined ? [] : [{ document, reason: shortReasonOf(error) }];
  }
  const middle = Math.ceil(documents.length / 2);
  const first = await insertOfKind(store, table, documents.slice(0, middle));
  return [...first, ...(await insertOfKind(store, table, documents.slice(middle)))];
}

function encoded(table: EntityTable, documents: readonly EntityDocument[]): Buffer {
  const writer = new RowBinaryWriter(INSERT_BYTES_MAX);
  table.write(writer, documents);
  return writer.bytes();
}
