import type { Store } from '../../infra/store/store.ts';

/** The same as in `schema/100_events.sql`. */
const OLD_PARTS_LIFETIME_S = 10;
/** Time after a receipt for which old files of the deleted rows are looked for. */
export const OLD_PARTS_SEARCHED_MS = 300_000;
/** Interval of this search. */
export const OLD_PARTS_EVERY_MS = 5_000;

/**
 * Makes the store remove the files of rows that it deleted before `beforeMs`, once they are old enough. By itself it does so within
 * minutes, and in a table without traffic within ten. Dropping a partition that does not exist makes it remove old files immediately.
 */
export async function removeOldParts(store: Store, beforeMs: number): Promise<void> {
  const rows = await store.query<{ table: string }>(
    `SELECT DISTINCT table FROM system.parts
     WHERE database = currentDatabase() AND NOT active
       AND remove_time <= toDateTime({before:UInt32}) AND remove_time < now() - ${OLD_PARTS_LIFETIME_S}
     ORDER BY table`,
    { before: Math.ceil(beforeMs / 1000) },
  );
  for (const { table } of rows) await store.command(`ALTER TABLE \`${table}\` DROP PARTITION ID 'none'`);
}
