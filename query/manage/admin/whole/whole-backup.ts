import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { siteSchema } from '../../../../infra/accounts/accounts.ts';
import type { Bus } from '../../../../infra/bus/bus.ts';
import type { Clock } from '../../../../infra/clock.ts';
import type { Store } from '../../../../infra/store/store.ts';
import { ERASURE_PREFIX, erasureSchema } from '../../../../processor/erasure.ts';
import { nowText } from '../../manage.ts';
import { backup } from '../backup.ts';
import { type ControlEntry, type ControlPlane, readEntries } from '../control-plane.ts';
import { type CommandOutput, counted, type NoteWriter, table } from '../table.ts';
import {
  digestOfFile,
  explained,
  isFolder,
  makePrivateFolder,
  namesIn,
  removeOthers,
} from './backup-folder.ts';
import type { LaneOwners } from './lane-owners.ts';
import {
  type BackupInstant,
  CONTROL_FILE,
  laneFields,
  lanesOf,
  MANIFEST_FILE,
  readUnfinished,
  type TableFiles,
  UNFINISHED_FILE,
  writeManifest,
  writeUnfinished,
} from './manifest.ts';
import { readProgress } from './progress-records.ts';
import { sizeText } from './table-progress.ts';
import { hasInstant, writeTables } from './tables-out.ts';
import { takeInstant } from './taken-instant.ts';

/** An erasure takes seconds, and an instant less than one. */
const INSTANTS_MAX = 10;

export interface WholeBackup {
  readonly plane: ControlPlane;
  readonly bus: Bus;
  readonly store: Store;
  readonly owners: LaneOwners;
  readonly clock: Clock;
  readonly writeNote: NoteWriter;
}

/**
 * `backup <folder> --events`: writes everything of one instant, while the service runs and takes events. The owners of
 * the lanes keep the tables as they are at that instant, so it does not matter how long it takes to write them. Interrupted and
 * repeated with the same folder, it goes on with the files that are missing, of the same instant. The manifest comes last.
 */
export async function backupWhole(parts: WholeBackup, folder: string): Promise<CommandOutput> {
  const path = resolve(folder);
  try {
    return await writeFolder(parts, path);
  } catch (error) {
    throw explained(error, path);
  }
}

async function writeFolder(parts: WholeBackup, path: string): Promise<CommandOutput> {
  const { store, owners, clock, writeNote } = parts;
  await rejectOtherFolder(path);
  await makePrivateFolder(path);
  const instant = (await unfinishedInstant(parts, path)) ?? (await newInstant(parts, path));
  const { backupId } = instant;
  const tables = await writeTables(store, {
    folder: path,
    backupId,
    lanes: lanesOf(instant).length,
    writeNote,
  });
  const control = { file: CONTROL_FILE, ...(await digestOfFile(join(path, CONTROL_FILE))) };
  await writeManifest(path, { ...instant, createdAt: nowText(clock), control, tables: [...tables] });
  await rm(join(path, UNFINISHED_FILE));
  await removeOthers(path, new Set([MANIFEST_FILE, CONTROL_FILE, ...tables.map(({ name }) => name)]));
  await owners.ask({ kind: 'drop', backupId }, 'done');
  return outputOf(path, instant, tables);
}

function outputOf(path: string, { takenAt }: BackupInstant, tables: readonly TableFiles[]): CommandOutput {
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
      `written to ${path}: everything that was accepted until ${takenAt}; the folder can restore every client and names people, so store it like a secret`,
    ],
    json: { folder: path, takenAt, tables: sized },
  };
}

/** A folder is new, empty, or one in which a backup was interrupted. */
async function rejectOtherFolder(path: string): Promise<void> {
  if (!existsSync(path)) return;
  if (!(await isFolder(path)))
    throw new Error(`${path} is a file; choose a folder for a backup with --events`);
  const names = await namesIn(path);
  if (names.includes(MANIFEST_FILE)) {
    // Only the last steps were interrupted, or none.
    throw new Error(`${path} already is a complete backup; choose another folder`);
  }
  const isOurs = names.every((name) => name === UNFINISHED_FILE || name.startsWith(CONTROL_FILE));
  if (!isOurs && !names.includes(UNFINISHED_FILE))
    throw new Error(`${path} contains other files (${names.slice(0, 3).join(', ')}); choose a new folder`);
}

/** The instant of an interrupted backup, if the store still has it. */
async function unfinishedInstant(
  { store, writeNote }: WholeBackup,
  path: string,
): Promise<BackupInstant | undefined> {
  const found = readUnfinished(path);
  if (found === undefined) return undefined;
  if (await hasInstant(store, found.backupId)) {
    writeNote(`going on with the backup of ${found.takenAt}`);
    return found;
  }
  writeNote(
    `the store no longer has the instant of ${found.takenAt}, of which this folder has a part: beginning again`,
  );
  return undefined;
}

/**
 * Takes an instant, and the control records that belong to it. What was erased or purged meanwhile would be said to be gone,
 * and be in the tables; then another instant is taken. What is still to be erased is in the records, and is erased again.
 */
async function newInstant(parts: WholeBackup, path: string): Promise<BackupInstant> {
  const { plane, bus, owners, clock, writeNote } = parts;
  await removeOthers(path, new Set());
  for (let attempt = 1; attempt <= INSTANTS_MAX; attempt += 1) {
    const before = goneOf(await readEntries(plane, writeNote));
    const progress = await readProgress(bus);
    const { lanes, ...taken } = await takeInstant(owners, writeNote);
    const control = join(path, CONTROL_FILE);
    await rm(control, { force: true });
    await backup(plane, { file: control, clock, writeNote });
    if (goneOf(await readEntries(plane, writeNote)) === before) {
      const instant = { ...taken, ...laneFields(lanes), progress };
      await writeUnfinished(path, instant);
      return instant;
    }
    writeNote('someone was erased meanwhile: taking another instant');
  }
  throw new Error(`erasures ended during ${counted(INSTANTS_MAX, 'attempt')}; repeat the command later`);
}

/** Whom and what the records say to be gone, as text to compare. */
function goneOf(entries: readonly ControlEntry[]): string {
  const gone = entries.filter(({ key, bytes }) => {
    const read = () => JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (key.startsWith(ERASURE_PREFIX)) return erasureSchema.safeParse(read()).data?.status === 'done';
    return key.startsWith('site.') && siteSchema.safeParse(read()).data?.deletion?.status === 'purged';
  });
  return gone.map(({ key }) => key).join('\n');
}
