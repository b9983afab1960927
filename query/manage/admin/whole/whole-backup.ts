import { siteSchema } from '../../../../infra/accounts/accounts.ts';
import type { Bus } from '../../../../infra/bus/bus.ts';
import type { Clock } from '../../../../infra/clock.ts';
import { BucketError } from '../../../../infra/object-store/object-store.ts';
import type { Store } from '../../../../infra/store/store.ts';
import type { PerShard } from '../../../../infra/store/store-shards.ts';
import { ERASURE_PREFIX, erasureSchema } from '../../../../processor/erasure.ts';
import { nowText } from '../../manage.ts';
import { backupRecords } from '../backup.ts';
import { encodeBackup } from '../backup-file.ts';
import { type ControlEntry, type ControlPlane, readEntries } from '../control-plane.ts';
import { type CommandOutput, counted, type NoteWriter, table } from '../table.ts';
import { isFull } from './backup-folder.ts';
import {
  type BackupPlace,
  CONTROL_FILE,
  digestOf,
  MANIFEST_FILE,
  removeOthers,
  SIGNATURE_FILE,
  UNFINISHED_FILE,
} from './backup-place.ts';
import type { LaneOwners } from './lane-owners.ts';
import {
  type BackupInstant,
  laneFields,
  readUnfinished,
  type TableFiles,
  writeManifest,
  writeUnfinished,
} from './manifest.ts';
import type { SigningKey } from './manifest-signature.ts';
import { readProgress } from './progress-records.ts';
import { sizeText } from './table-progress.ts';
import { hasInstant, writeTables } from './tables-out.ts';
import { takeInstant } from './taken-instant.ts';

/** An erasure takes seconds, and an instant less than one. */
const INSTANTS_MAX = 10;
/** Word for a different place, by kind. */
const PLACES: Readonly<Record<BackupPlace['kind'], string>> = { folder: 'folder', bucket: 'prefix' };

export interface WholeBackup {
  readonly plane: ControlPlane;
  readonly bus: Bus;
  readonly stores: PerShard<Store>;
  readonly owners: LaneOwners;
  readonly clock: Clock;
  readonly key: SigningKey;
  readonly writeNote: NoteWriter;
}

/**
 * `backup <folder> --events`, `backup s3://bucket/prefix`: writes everything of one instant, while the service runs and accepts
 * events. The owners of the lanes preserve the tables of this instant, so the time needed to write them does not matter.
 * Interrupted and repeated with the same place, it continues with the missing files of the same instant. The manifest comes last.
 */
export async function backupWhole(parts: WholeBackup, place: BackupPlace): Promise<CommandOutput> {
  try {
    return await writePlace(parts, place);
  } catch (error) {
    throw explained(error, place);
  }
}

/** The error with advice for an operator: about a full disk, or a bucket that rejects writes. */
function explained(error: unknown, { shown }: BackupPlace): unknown {
  const goesOn = 'repeat the command, which goes on with what is missing';
  if (error instanceof BucketError) return new Error(`${shown}: ${error.message}; ${goesOn}`);
  return isFull(error) ? new Error(`the disk of ${shown} is full; make room and ${goesOn}`) : error;
}

async function writePlace(parts: WholeBackup, place: BackupPlace): Promise<CommandOutput> {
  const { stores, owners, clock, key, writeNote } = parts;
  await rejectOtherPlace(place);
  const instant = (await unfinishedInstant(parts, place)) ?? (await newInstant(parts, place));
  const { backupId } = instant;
  const tables = await writeTables(stores, { place, backupId, writeNote });
  const control = { file: CONTROL_FILE, ...(await digestOf(place, CONTROL_FILE)) };
  const content = { ...instant, createdAt: nowText(clock), control, tables: [...tables] };
  await writeManifest(place, content, key);
  const files = tables.flatMap((table) => table.files.map(({ file }) => file));
  await removeOthers(place, new Set([MANIFEST_FILE, SIGNATURE_FILE, CONTROL_FILE, ...files]));
  await place.removeUnfinished();
  await owners.ask({ kind: 'drop', backupId }, 'done');
  return outputOf(place, instant, tables);
}

function outputOf(
  { kind, shown }: BackupPlace,
  { takenAt }: BackupInstant,
  tables: readonly TableFiles[],
): CommandOutput {
  const sized = tables.map(({ name, rows, files }) => ({
    name,
    rows,
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  }));
  return {
    lines: [
      ...table(
        ['TABLE', 'FILES', 'ROWS', 'SIZE'],
        sized.map(({ name, files, rows, bytes }) => [name, String(files), String(rows), sizeText(bytes)]),
      ),
      `written to ${shown}: everything that was accepted until ${takenAt}; the ${kind} can restore every client and names people, so store it like a secret`,
    ],
    json: { [kind]: shown, takenAt, tables: sized },
  };
}

/** A place is new, empty, or one in which a backup was interrupted. */
async function rejectOtherPlace(place: BackupPlace): Promise<void> {
  const { kind, shown } = place;
  const names = await place.names();
  if (names.includes(MANIFEST_FILE)) {
    // Only the last steps were interrupted, or none.
    throw new Error(`${shown} already is a complete backup; choose another ${PLACES[kind]}`);
  }
  const isOurs = names.every((name) => name === UNFINISHED_FILE || name.startsWith(CONTROL_FILE));
  if (!isOurs && !names.includes(UNFINISHED_FILE))
    throw new Error(
      `${shown} contains other files (${names.slice(0, 3).join(', ')}); choose a new ${PLACES[kind]}`,
    );
}

/** The instant of an interrupted backup, if the store still has it. */
async function unfinishedInstant(
  { stores, writeNote }: WholeBackup,
  place: BackupPlace,
): Promise<BackupInstant | undefined> {
  const found = await readUnfinished(place);
  if (found === undefined) return undefined;
  if (await hasInstant(stores, found.backupId)) {
    writeNote(`going on with the backup of ${found.takenAt}`);
    return found;
  }
  writeNote(
    `the store no longer has the instant of ${found.takenAt}, of which this ${place.kind} has a part: beginning again`,
  );
  return undefined;
}

/**
 * Takes an instant, and the control records that belong to it. Data erased or purged in between would be recorded as gone, and be
 * in the tables; then another instant is taken. Pending erasures are in the records, and run again.
 */
async function newInstant(parts: WholeBackup, place: BackupPlace): Promise<BackupInstant> {
  const { plane, bus, stores, owners, clock, writeNote } = parts;
  await removeOthers(place, new Set());
  for (let attempt = 1; attempt <= INSTANTS_MAX; attempt += 1) {
    const before = goneOf(await readEntries(plane, writeNote));
    const progress = await readProgress(bus);
    const { lanes, ...taken } = await takeInstant(owners, writeNote);
    await backupRecords(plane, {
      path: `${place.shown}/${CONTROL_FILE}`,
      write: async (entries, createdAt) => {
        const { head, chunks } = encodeBackup(entries, createdAt);
        await place.write(CONTROL_FILE, bytesOfChunks(chunks));
        return head;
      },
      clock,
      writeNote,
    });
    if (goneOf(await readEntries(plane, writeNote)) === before) {
      const shards = stores.all.length === 1 ? {} : { storeShards: stores.all.length };
      const instant = { ...taken, ...laneFields(lanes), ...shards, progress };
      await writeUnfinished(place, instant);
      return instant;
    }
    writeNote('someone was erased meanwhile: taking another instant');
  }
  throw new Error(`erasures ended during ${counted(INSTANTS_MAX, 'attempt')}; repeat the command later`);
}

function* bytesOfChunks(chunks: Iterable<string>): Generator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

/** The people and sites that are gone according to the records, as text to compare. */
function goneOf(entries: readonly ControlEntry[]): string {
  const gone = entries.filter(({ key, bytes }) => {
    const read = () => JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (key.startsWith(ERASURE_PREFIX)) return erasureSchema.safeParse(read()).data?.status === 'done';
    return key.startsWith('site.') && siteSchema.safeParse(read()).data?.deletion?.status === 'purged';
  });
  return gone.map(({ key }) => key).join('\n');
}
