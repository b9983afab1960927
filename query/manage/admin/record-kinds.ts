import type { z } from 'zod';
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
import { ERASURE_PREFIX, erasureKeyOf, erasureSchema } from '../../../processor/erasure.ts';
import { INTEGRATION_PREFIX, integrationKeyOf, integrationSchema } from '../../../processor/integration.ts';
import { CONNECTION_PREFIX, connectionKeyOf, connectionSchema } from '../../../processor/search-console.ts';
import { goalSchema, segmentSchema } from '../../definitions/definition-records.ts';
import { reportSchema } from '../../reports/report-api.ts';
import { SHARE_PREFIX, shareKeyOf, shareSchema } from '../../sign-in/share-record.ts';
import { USER_PREFIX, userKeyOf, userSchema } from '../../sign-in/user-record.ts';
import { dashboardSchema, referenceSchema } from '../catalog-api.ts';
import { type ControlEntry, isSalt } from './control-plane.ts';

/** Returns the problem with a value under a key; undefined if it is valid. */
type Check = (key: string, bytes: Uint8Array) => string | undefined;

const WRONG_KEY = 'its id does not match its key';

/** The kinds of record that this program reads, by key prefix. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  ['team.', check(teamSchema, ({ id }) => teamKeyOf(id))],
  ['site.', check(siteSchema, ({ id }) => siteKeyOf(id))],
  ['client.', check(clientSchema, ({ id }) => clientKeyOf(id))],
  ['reference.', check(referenceSchema, ({ id }) => `reference.${id}`)],
  ['dashboard.', check(dashboardSchema, ({ id }) => `dashboard.${id}`)],
  ['report.', check(reportSchema, ({ id }) => `report.${id}`)],
  ['segment.', check(segmentSchema, ({ id }) => `segment.${id}`)],
  [SHARE_PREFIX, check(shareSchema, ({ id }) => shareKeyOf(id))],
  [USER_PREFIX, check(userSchema, ({ id }) => userKeyOf(id))],
  ['goal.', check(goalSchema, ({ id }) => `goal.${id}`)],
  [ERASURE_PREFIX, check(erasureSchema, ({ id }) => erasureKeyOf(id))],
  [CONNECTION_PREFIX, check(connectionSchema, ({ storedId }) => connectionKeyOf(storedId))],
  [INTEGRATION_PREFIX, check(integrationSchema, ({ id }) => integrationKeyOf(id))],
]);

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
  return CHECKS.get(`${kindOf(entry)}.`)?.(key, bytes);
}

/** The number of entries of each kind, sorted by kind. */
export function countByKind(
  entries: readonly Pick<ControlEntry, 'bucket' | 'key'>[],
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(kindOf(entry), (counts.get(kindOf(entry)) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function check<Value>(schema: z.ZodType<Value>, keyOf: (value: Value) => string): Check {
  return (key, bytes) => {
    const parsed = schema.safeParse(jsonOf(bytes));
    if (!parsed.success) {
      const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'unreadable' };
      return `${path.length === 0 ? '' : `${path.join('.')}: `}${message}`;
    }
    return keyOf(parsed.data) === key ? undefined : WRONG_KEY;
  };
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
