import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
  teamSchema,
} from '../../../infra/accounts/accounts.ts';
import { aliasKeyOf, decodeAlias } from '../../../ingest/entity-update.ts';
import { CATALOG_KINDS, type RecordCheck, recordKind, WRONG_KEY } from '../catalog.ts';
import { type ControlEntry, isSalt } from './control-plane.ts';

/** The kinds of record that this program reads. */
const KINDS = [
  recordKind('team.', teamSchema, ({ id }) => teamKeyOf(id)),
  recordKind('site.', siteSchema, ({ id }) => siteKeyOf(id)),
  recordKind('client.', clientSchema, ({ id }) => clientKeyOf(id)),
  ...Object.values(CATALOG_KINDS),
];
const CHECKS: ReadonlyMap<string, RecordCheck> = new Map(KINDS.map(({ prefix, check }) => [prefix, check]));

/** The key prefixes in the control bucket whose records are checked. */
export const CHECKED_PREFIXES: readonly string[] = [...CHECKS.keys()];

/** The kind under which an entry is counted: `team`, `site`, …, `alias`. */
export function kindOf({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): string {
  return bucket === CONTROL_BUCKET ? (key.split('.', 1)[0] ?? key) : 'alias';
}

/** True for a kind of record that this program does not know; such entries are copied unchanged. */
export function isUnknownKind({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): boolean {
  return bucket === CONTROL_BUCKET && !CHECKS.has(`${kindOf({ bucket, key })}.`);
}

/** Why the service could not use an entry, in words that reveal nothing of its value; undefined if it can. */
export function problemOf(entry: ControlEntry): string | undefined {
  const { bucket, key, bytes } = entry;
  if (isSalt(entry)) return 'a backup must not contain salts';
  if (bucket !== CONTROL_BUCKET) return aliasProblem(key, bytes);
  return CHECKS.get(`${kindOf(entry)}.`)?.(key, jsonOf(bytes));
}

/** The number of entries of each kind, sorted by kind. */
export function countByKind(
  entries: readonly Pick<ControlEntry, 'bucket' | 'key'>[],
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(kindOf(entry), (counts.get(kindOf(entry)) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function aliasProblem(key: string, bytes: Uint8Array): string | undefined {
  const alias = decodeAlias(bytes);
  if (alias === undefined) return 'not an alias';
  return aliasKeyOf(alias) === key ? undefined : WRONG_KEY;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined; // The schema rejects it with a message.
  }
}
