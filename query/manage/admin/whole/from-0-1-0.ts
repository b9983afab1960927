import { createHash } from 'node:crypto';
import { z } from 'zod';
import { storedIdSchema } from '../../../../infra/accounts/ids.ts';
import { ALIASES_BUCKET, encodeAlias } from '../../../../ingest/entity-update.ts';
import type { AppliedMigration } from '../../../../processor/backups.ts';
import type { ControlEntry } from '../control-plane.ts';

/**
 * The bridge from 0.1.0, whose data this release reads only from a backup. Its 22 files of `processor/schema` made tables with the same
 * columns as the baseline. This is the SHA-256 over their names and hashes.
 */
const FILES_OF_0_1_0 = 'ab1f14eb9fcc72e13990cf31d9527c5e18094dad58758da1c425d22f595ff97d';
/** The last file of the baseline. A further file may change the columns, and then 1.0.0 is the way. */
const BASELINE_END = '119_search_console.sql';

/** Aliases of 0.1.0: version 2, and before it records that did not say who made them. */
const formerAlias = z.object({
  version: z.int().min(0).max(2).default(0),
  projectId: storedIdSchema,
  alias: z.string(),
  profileId: z.string(),
  verified: z.boolean().default(false),
  createdAt: z.iso.datetime().nullable().default(null),
});

/** True if 0.1.0 has these files. */
export function areFilesOfFormer(migrations: readonly AppliedMigration[]): boolean {
  const hash = createHash('sha256');
  for (const { name, hash: text } of migrations) hash.update(`${name} ${text}\n`);
  return hash.digest('hex') === FILES_OF_0_1_0;
}

/** True if these files are the baseline, without a later one. */
export function areBaseline(migrations: readonly AppliedMigration[]): boolean {
  return migrations.at(-1)?.name === BASELINE_END;
}

/** A control record of 0.1.0 as today's. Only aliases differ; what is no alias stays as it is, and the restore refuses it. */
export function entryOfToday(entry: ControlEntry): ControlEntry {
  if (entry.bucket !== ALIASES_BUCKET) return entry;
  const { data } = formerAlias.safeParse(jsonOf(entry.bytes));
  if (data === undefined) return entry;
  const { version, ...alias } = data;
  return { ...entry, bytes: encodeAlias(version < 2 ? { ...alias, verified: false } : alias) };
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}
