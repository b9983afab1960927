import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Store } from '../../infra/store/store.ts';
import type { EntityDocument } from './document.ts';
import type { EntityName } from './entity-book.ts';
import { ENTITY_TABLES, type EntityTable } from './entity-tables.ts';

const INSERT_BYTES_MAX = 1_073_741_824;

/** The name of an entity, and what the store has of it. */
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

/** Appends the documents; of each entity the store retains the one with the highest version. */
export async function insertEntities(store: Store, documents: readonly EntityDocument[]): Promise<void> {
  for (const table of ENTITY_TABLES) {
    const writer = new RowBinaryWriter(INSERT_BYTES_MAX);
    table.write(writer, documents);
    if (writer.length > 0)
      await store.insertRowBinary(table.name, table.columns, [writer.bytes()], undefined);
  }
}
