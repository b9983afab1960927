import { resolve } from 'node:path';
import type { Clock } from '../../../infra/clock.ts';
import { nowText } from '../manage.ts';
import { type BackupHead, rejectUnwritable, writeBackup } from './backup-file.ts';
import { type ControlEntry, type ControlPlane, pathOf, readEntries } from './control-plane.ts';
import { isUnknownKind, problemOf } from './record-kinds.ts';
import { type CommandOutput, counted, type NoteWriter, table } from './table.ts';

/** `backup <file>`. */
export async function backup(
  plane: ControlPlane,
  {
    file,
    clock,
    writeNote,
  }: { readonly file: string; readonly clock: Clock; readonly writeNote: NoteWriter },
): Promise<CommandOutput> {
  const path = resolve(file);
  rejectUnwritable(path);
  const write = async (entries: readonly ControlEntry[], createdAt: string) =>
    writeBackup(path, entries, createdAt);
  return backupRecords(plane, { path, write, clock, writeNote });
}

/**
 * Writes all control records and aliases, but no salts. One unreadable record would make the whole file unusable, so unreadable
 * records are skipped and reported. `path` names the file that `write` writes.
 */
export async function backupRecords(
  plane: ControlPlane,
  {
    path,
    write,
    clock,
    writeNote,
  }: {
    readonly path: string;
    readonly write: (entries: readonly ControlEntry[], createdAt: string) => Promise<BackupHead>;
    readonly clock: Clock;
    readonly writeNote: NoteWriter;
  },
): Promise<CommandOutput> {
  const all = await readEntries(plane, writeNote);
  const entries = all.filter((entry) => {
    const problem = problemOf(entry);
    if (problem !== undefined) writeNote(`skipped unreadable entry ${pathOf(entry)}: ${problem}`);
    return problem === undefined;
  });
  if (!entries.some(({ key }) => key.startsWith('team.'))) {
    throw new Error('this bus has no team; nothing was written; set DATA_DIR or NATS_URL');
  }
  const { createdAt, counts, sha256 } = await write(entries, nowText(clock));
  const rows = Object.entries(counts).map(([kind, count]) => [kind, String(count)]);
  const skipped = all.length - entries.length;
  const unknown = entries.filter(isUnknownKind).length;
  return {
    lines: [
      ...table(['KIND', 'ENTRIES'], rows),
      ...(unknown === 0
        ? []
        : [`${counted(unknown, 'entry', 'entries')} of unknown kinds, copied unchanged`]),
      ...(skipped === 0 ? [] : [`${counted(skipped, 'entry', 'entries')} skipped, see above`]),
      `written to ${path}; the file can restore every client, so store it like a secret`,
    ],
    json: { file: path, createdAt, counts, leftOut: skipped, sha256 },
    isIncomplete: skipped > 0,
  };
}
