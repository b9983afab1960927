import { resolve } from 'node:path';
import { CONTROL_BUCKET, teamSchema } from '../../../infra/accounts/accounts.ts';
import { ERASURE_PREFIX, erasureSchema } from '../../../processor/erasure.ts';
import type { AuditLog, BegunAction } from '../../audit/audit-log.ts';
import { type Backup, readBackup } from './backup-file.ts';
import {
  applyChanges,
  type ControlEntry,
  type ControlPlane,
  type EntryChange,
  pathOf,
  progress,
  readEntries,
  type StoredEntry,
} from './control-plane.ts';
import { countByKind, isUnknownKind, problemOf } from './record-kinds.ts';
import { type CommandOutput, counted, type NoteWriter, table } from './table.ts';

/** The changes that make the control plane equal to the file, salts aside. */
interface Plan {
  /** First all differences except teams, then removals, then teams. */
  readonly stages: readonly (readonly EntryChange[])[];
  readonly written: readonly EntryChange[];
  readonly removed: readonly StoredEntry[];
  readonly unchanged: number;
}

/** `restore <file> [--replace]`. */
export async function restore(
  plane: ControlPlane,
  audit: AuditLog,
  {
    file,
    replace,
    writeNote,
  }: { readonly file: string; readonly replace: boolean; readonly writeNote: NoteWriter },
): Promise<CommandOutput> {
  const path = resolve(file);
  return restoreRecords(plane, audit, { path, backup: readBackup(path), replace, writeNote });
}

/**
 * Makes the control plane equal to a file that was checked as a whole, salts aside. Teams are written last, as on the first start
 * (infra/accounts/first-start.ts): a bus with its teams is complete, and an interrupted restore can be repeated, also without
 * `replace`. It is in the audit log of each team of the file. `path` names the file.
 */
export async function restoreRecords(
  plane: ControlPlane,
  audit: AuditLog,
  {
    path,
    backup: { entries, createdAt },
    replace,
    writeNote,
  }: {
    readonly path: string;
    readonly backup: Backup;
    readonly replace: boolean;
    readonly writeNote: NoteWriter;
  },
): Promise<CommandOutput> {
  rejectUnusable(path, entries);
  const present = await readEntries(plane, writeNote);
  const plan = planOf(entries, present);
  if (!replace && present.some(isTeam) && !completesOnly(plan)) {
    const teams = counted(present.filter(isTeam).length, 'team');
    throw new Error(
      `this bus already has ${teams}; nothing was written; use --replace to replace its control records with ` +
        `the file (make a backup first)`,
    );
  }
  // Reported before any removal, because a second attempt could no longer see these entries.
  const notes = notesOf(entries, plan);
  for (const note of notes) writeNote(note);
  const done = progress('written', plan.written.length + plan.removed.length, writeNote);
  const teamIds = entries.filter(isTeam).map(teamIdOf);
  await auditedRestore(audit, teamIds, async () => {
    for (const stage of plan.stages) await applyChanges(plane, stage, done);
  });
  return {
    lines: [
      ...rowsOf(entries, plan),
      `restored ${path} of ${createdAt}; running services follow automatically`,
    ],
    json: {
      file: path,
      createdAt,
      written: plan.written.length,
      removed: plan.removed.length,
      unchanged: plan.unchanged,
      notes,
    },
  };
}

/** Logs a restore for each team of the file, before and after. */
async function auditedRestore(
  audit: AuditLog,
  teamIds: readonly string[],
  apply: () => Promise<void>,
): Promise<void> {
  const action = { actor: 'admin', clientId: null, clientName: null, action: 'admin restore' } as const;
  const none = { projectId: null, ids: {}, fields: [] };
  const begun: BegunAction[] = [];
  for (const teamId of teamIds) begun.push(await audit.begin(teamId, { ...action, ...none }));
  const end = async (status: number) => {
    for (const one of begun)
      await audit.end(one, { status, projectId: null, made: null, profileDigest: null });
  };
  try {
    await apply();
  } catch (error) {
    await end(500);
    throw error;
  }
  await end(200);
}

function teamIdOf({ bytes }: ControlEntry): string {
  return teamSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8'))).id;
}

function rejectUnusable(path: string, entries: readonly ControlEntry[]): void {
  for (const entry of entries) {
    const problem = problemOf(entry);
    if (problem === undefined) continue;
    throw new Error(`${path}: ${pathOf(entry)}: ${problem}; nothing was written; use another backup`);
  }
  if (!entries.some(isTeam)) throw new Error(`${path} has no team; nothing was written; use another backup`);
}

function planOf(wanted: readonly ControlEntry[], present: readonly StoredEntry[]): Plan {
  const before = new Map(present.map((entry) => [pathOf(entry), entry]));
  const written = wanted.flatMap(({ bucket, key, bytes }): EntryChange[] => {
    const stored = before.get(pathOf({ bucket, key }));
    if (stored !== undefined && Buffer.from(stored.bytes).equals(bytes)) return [];
    return [{ bucket, key, bytes, revision: stored?.revision ?? 0 }];
  });
  const wantedPaths = new Set(wanted.map(pathOf));
  const removed = present.filter((entry) => !wantedPaths.has(pathOf(entry)));
  return {
    stages: [
      written.filter((change) => !isTeam(change)),
      removed.map((entry) => ({ ...entry, bytes: undefined })),
      written.filter(isTeam),
    ],
    written,
    removed,
    unchanged: wanted.length - written.length,
  };
}

/** True if no present entry changes and only teams are missing, as after an interrupted restore. */
function completesOnly({ written, removed }: Plan): boolean {
  return removed.length === 0 && written.every((change) => change.revision === 0 && isTeam(change));
}

function isTeam({ bucket, key }: Pick<ControlEntry, 'bucket' | 'key'>): boolean {
  return bucket === CONTROL_BUCKET && key.startsWith('team.');
}

function rowsOf(entries: readonly ControlEntry[], { written, removed }: Plan): string[] {
  const counts = [entries, written, removed].map(countByKind);
  const kinds = [...new Set(counts.flatMap((count) => Object.keys(count)))].sort();
  const rows = kinds.map((kind) => [kind, ...counts.map((count) => String(count[kind] ?? 0))]);
  return table(['KIND', 'IN THE FILE', 'WRITTEN', 'REMOVED'], rows);
}

/** Facts about the restore that the operator would not notice otherwise. */
function notesOf(entries: readonly ControlEntry[], { removed }: Plan): string[] {
  const unknown = countByKind(entries.filter(isUnknownKind));
  const unfinished = removed.filter(isUnfinishedErasure);
  return [
    ...Object.entries(unknown).map(
      ([kind, count]) => `not checked: ${counted(count, 'entry', 'entries')} of unknown kind ${kind}`,
    ),
    ...unfinished.map(({ key }) => `unfinished request ${key} is not in the file; request the erasure again`),
  ];
}

function isUnfinishedErasure({ bucket, key, bytes }: StoredEntry): boolean {
  if (bucket !== CONTROL_BUCKET || !key.startsWith(ERASURE_PREFIX)) return false;
  try {
    return erasureSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8'))).status !== 'done';
  } catch {
    return false;
  }
}
