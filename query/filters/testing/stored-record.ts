import type { Store } from '../../../infra/store/store.ts';
import type { KnownEntity } from './evaluate.ts';

/** Inserts one version of a profile's or group's record. */
export async function insertRecord(
  store: Store,
  table: 'profiles' | 'groups',
  { id, columns, properties, groups, createdAt, updatedAt }: KnownEntity,
  { site, version }: { readonly site: string; readonly version: number },
): Promise<void> {
  const own = table === 'profiles' ? ['firstName', 'email'] : ['type', 'name'];
  const list = table === 'profiles' ? ', groups' : '';
  const values = [...own.map((column) => `{${column}:String}`), '{properties:Map(String, String)}'];
  await store.command(
    `INSERT INTO ${table} (projectId, id, ${own.join(', ')}, properties, createdAt, updatedAt, version${list})
     SELECT {site:String}, {id:String}, ${values.join(', ')}, fromUnixTimestamp64Milli({createdAt:Int64}),
       fromUnixTimestamp64Milli({updatedAt:Int64}), {version:UInt64}${list && ', {groups:Array(String)}'}`,
    { ...columns, site, id, properties, groups, createdAt, updatedAt, version },
  );
}
