import { randomBytes } from 'node:crypto';
import { clientSchema, siteSchema } from '../../../../infra/accounts/accounts.ts';
import { must } from '../../../../infra/assert.ts';
import type { Bus } from '../../../../infra/bus/bus.ts';
import { BucketError } from '../../../../infra/object-store/object-store.ts';
import type { LaneLayout } from '../../../../infra/process/service-lanes.ts';
import type { Store } from '../../../../infra/store/store.ts';
import type { PerShard } from '../../../../infra/store/store-shards.ts';
import { type AppliedMigration, type BackedLane, FIRST_LANE } from '../../../../processor/backups.ts';
import type { AuditLog } from '../../../audit/audit-log.ts';
import { type Backup, decodeBackup } from '../backup-file.ts';
import { type ControlEntry, type ControlPlane, readEntries } from '../control-plane.ts';
import { kindOf } from '../record-kinds.ts';
import { restoreRecords } from '../restore.ts';
import { type CommandOutput, counted, type NoteWriter, table } from '../table.ts';
import type { BackupPlace } from './backup-place.ts';
import { areBaseline, areFilesOfFormer, entryOfToday } from './from-0-1-0.ts';
import type { LaneOwners } from './lane-owners.ts';
import { type BackupManifest, lanesOf, readManifest } from './manifest.ts';
import { checkSignature, type SigningKey } from './manifest-signature.ts';
import { restoreProgress } from './progress-records.ts';
import { checkFiles, readChecked, readTables } from './tables-in.ts';

export interface WholeRestore {
  readonly plane: ControlPlane;
  readonly audit: AuditLog;
  readonly bus: Bus;
  readonly stores: PerShard<Store>;
  readonly owners: LaneOwners;
  readonly key: SigningKey;
  readonly writeNote: NoteWriter;
}

/** The backup to restore, and the operator's permissions. */
export interface RestoreChoice {
  readonly place: BackupPlace;
  readonly replace: boolean;
  /** Also without a signature of this service's key. */
  readonly unsigned: boolean;
}

/**
 * `restore <folder> [--replace] [--unsigned]`, `restore s3://bucket/prefix [--replace] [--unsigned]`: puts a backup of everything
 * into an empty service. All files are checked first. Rows go to separate tables, which replace the service's tables in one step
 * when they are complete. So an interrupted restore leaves an empty service or a whole one. Repeated, it starts over, or
 * continues with the control records if the rows are in. `replace`: also if the service has teams that the first start did not
 * make.
 */
export async function restoreWhole(parts: WholeRestore, choice: RestoreChoice): Promise<CommandOutput> {
  const { place } = choice;
  try {
    return await restorePlace(parts, choice);
  } catch (error) {
    if (!(error instanceof BucketError)) throw error;
    // Nothing is read from the place any more when the rows are put in.
    throw new Error(`${place.shown}: ${error.message}; nothing was changed; repeat the command`);
  }
}

async function restorePlace(
  { plane, audit, bus, stores, owners, key, writeNote }: WholeRestore,
  { place, replace, unsigned }: RestoreChoice,
): Promise<CommandOutput> {
  const { manifest, bytes } = await readManifest(place);
  await checkSignature(place, bytes, { key, unsigned, writeNote });
  const { backupId, tables, takenAt } = manifest;
  const lanes = lanesOf(manifest);
  await checkFiles(place, manifest, writeNote);
  const records = await recordsOf(place, manifest);
  const layout = await owners.layout();
  rejectOtherShards(manifest, layout);
  rejectOtherLanes(lanes, layout);
  const attempt = randomBytes(8).toString('hex');
  const prepare = (lane: number) =>
    owners.ask({ kind: 'prepare', attempt }, 'prepared', lane).catch((error: unknown) => {
      throw advised(error);
    });
  const prepared = await prepare(FIRST_LANE);
  rejectOtherRelease(manifest, prepared.migrations);
  if (prepared.restored === null) {
    if (!replace) await rejectManaged(plane, writeNote);
    const others = await Promise.all(
      lanes.map((_, lane) => (lane === FIRST_LANE ? prepared : prepare(lane))),
    );
    const target = { attempt, lanes, versionMax: lowest(others.map((one) => one.versionMax)) };
    await readTables(stores, { place, tables, writeNote }, target);
    await Promise.all(
      lanes.map((lane, number) => owners.ask({ kind: 'adopt', attempt, backupId, lane }, 'done', number)),
    );
    writeNote('the rows are in; now the control records');
  } else if (prepared.restored !== backupId) {
    throw new Error('this service is being restored from another backup; repeat the restore of that one');
  }
  await restoreProgress(bus, manifest.progress);
  const control = await restoreRecords(plane, audit, { ...records, replace: true, writeNote });
  // The first lane last: it says that the restore is not over.
  for (let lane = lanes.length - 1; lane >= 0; lane -= 1)
    await owners.ask({ kind: 'settle', backupId }, 'done', lane);
  const rows = tables.map(({ name, rows: count }) => [name, String(count)]);
  return {
    lines: [
      ...table(['TABLE', 'ROWS'], rows),
      ...control.lines,
      `restored everything of ${takenAt} from ${place.shown}`,
    ],
    json: {
      [place.kind]: place.shown,
      takenAt,
      tables: tables.map(({ name, rows: count }) => ({ name, rows: count })),
      control: control.json,
    },
  };
}

/** The control records of a backup, which are small enough for memory. */
async function recordsOf(
  place: BackupPlace,
  { control, migrations }: BackupManifest,
): Promise<{ readonly path: string; readonly backup: Backup }> {
  const path = `${place.shown}/${control.file}`;
  const backup = decodeBackup(path, await readChecked(place, control));
  if (!areFilesOfFormer(migrations)) return { path, backup };
  return { path, backup: { ...backup, entries: backup.entries.map(entryOfToday) } };
}

/** The lowest of these numbers: a document may belong to any of the lanes. */
function lowest(versions: readonly string[]): string {
  let found: string | undefined;
  for (const version of versions) if (found === undefined || BigInt(version) < BigInt(found)) found = version;
  return must(found, 'a service has a lane');
}

/** Lanes and their rows are bound to shards. */
function rejectOtherShards({ storeShards = 1 }: BackupManifest, layout: LaneLayout): void {
  if (storeShards === layout.storeShards) return;
  throw new Error(
    `the backup is of a store with ${counted(storeShards, 'shard')}, and that of this service has ${layout.storeShards}; nothing was written; start an empty service whose CLICKHOUSE_URL lists ${counted(storeShards, 'server')}, then repeat the command`,
  );
}

/** Each lane continues from its saved position, so the number of lanes must match; nothing was written yet. */
function rejectOtherLanes(lanes: readonly BackedLane[], layout: LaneLayout): void {
  if (layout.growingTo !== undefined)
    throw new Error(
      'this service is growing to more lanes; nothing was written; repeat the command when it has grown',
    );
  const has = counted(lanes.length, 'lane');
  const grow = `let it grow (npm run admin -- lane grow ${lanes.length})`;
  if (layout.lanes !== lanes.length) {
    const canGrow = lanes.length > layout.lanes && lanes.length % layout.lanes === 0;
    const start = `start an empty service with LANES=${lanes.length}`;
    throw new Error(
      `the backup is of a service with ${has}, and this one has ${layout.lanes}; nothing was written; ${canGrow ? `${grow}, or ${start}` : start}, then repeat the command`,
    );
  }
  if (lanes.some(({ before }) => before !== undefined) && !layout.isGrown)
    throw new Error(
      `the backup is of a service that has grown to ${has}, and this one began with them; nothing was written; start an empty service without LANES and ${grow}, then repeat the command`,
    );
}

/** Adds advice for a service that is not empty. */
function advised(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('this service is not empty')) return error;
  return new Error(
    `${error.message}; nothing was written; a backup of everything is restored into a new service: stop this one, start it with an empty DATA_DIR, and repeat the command`,
  );
}

/** The tables have to be as they were, or the backup is of 0.1.0. An update of the release changes their rows as it would have there. */
export function rejectOtherRelease(
  { migrations }: Pick<BackupManifest, 'migrations'>,
  present: readonly AppliedMigration[],
): void {
  const hashes = new Map(present.map(({ name, hash }) => [name, hash]));
  const isSame =
    present.length === migrations.length && migrations.every(({ name, hash }) => hashes.get(name) === hash);
  if (isSame || (areFilesOfFormer(migrations) && areBaseline(present))) return;
  const last = (all: readonly AppliedMigration[]) => all.at(-1)?.name ?? 'none';
  throw new Error(
    `the backup was made by another release: its tables are those of ${last(migrations)}, and those of this service of ${last(present)}; nothing was written; restore it with the release that made it, and update then`,
  );
}

/** Refuses to replace control records that people made. Records of the first start do not count. */
async function rejectManaged(plane: ControlPlane, writeNote: NoteWriter): Promise<void> {
  const entries = await readEntries(plane, writeNote);
  const made = entries.filter((entry) => !isOfFirstStart(entry));
  if (made.length === 0) return;
  throw new Error(
    `this service has ${counted(made.length, 'control record')} that the first start did not make; nothing was written; use --replace to replace all control records with those of the backup`,
  );
}

/** True if a record is one that `infra/accounts/first-start.ts` makes. */
function isOfFirstStart(entry: ControlEntry): boolean {
  const read = () => JSON.parse(Buffer.from(entry.bytes).toString('utf8'));
  switch (kindOf(entry)) {
    case 'team':
      return entry.key === 'team.team';
    case 'site': {
      const { data } = siteSchema.safeParse(read());
      return data?.id === 'demo' && data.createdAt === data.updatedAt;
    }
    case 'client': {
      const { data } = clientSchema.safeParse(read());
      return (
        data !== undefined && data.name === `first ${data.type} client` && data.createdAt === data.updatedAt
      );
    }
    default:
      return false;
  }
}
