import type { Store } from '../../../../infra/store/store.ts';

/** A column of a table, with its type as the store writes it. */
export interface StoredColumn {
  readonly name: string;
  readonly type: string;
}

/** The stored columns of each row; the store computes the other columns. */
export async function storedColumns(store: Store, table: string): Promise<readonly StoredColumn[]> {
  return store.query<StoredColumn>(
    `SELECT name, type FROM system.columns
     WHERE database = currentDatabase() AND table = {table:String} AND default_kind NOT IN ('MATERIALIZED', 'ALIAS')
     ORDER BY position`,
    { table },
  );
}
