import { resolve } from 'node:path';
import type { Clock } from '../../../infra/clock.ts';
import { nowText } from '../manage.ts';
import { rejectUnfit, writeBackup } from './backup-file.ts';
import { type ControlPlane, pathOf, readEntries } from './control-plane.ts';
import { isUnknownKind, problemOf } from './record-kinds.ts';
import { type CommandOutput, counted, type NoteWriter, table } from './table.ts';

/**
 * `backup <file>`: everything that is managed, but not the salts. A record that no program can read would make the whole
 * file useless; it is left out, and said.
 */
export async function backup(
  plane: ControlPlane,
  { file, clock, say }: { readonly file: string; readonly clock: Clock; readonly say: NoteWriter },
): Promise<CommandOutput> {
  const path = resolve(file);
  rejectUnfit(path);
  const all = await readEntries(plane, say);
  const entries = all.filter((entry) => {
    const problem = problemOf(entry);
    if (problem !== undefined) say(`left out, since it cannot be read: ${pathOf(entry)}: ${problem}`);
    return problem === undefined;
  });
  if (!entries.some(({ key }) => key.startsWith('team.'))) {
    throw new Error('there is no team on this bus, so nothing was written; set DATA_DIR or NATS_URL');
  }
  const { createdAt, counts, sha256 } = writeBackup(path, entries, nowText(clock));
  const rows = Object.entries(counts).map(([kind, count]) => [kind, String(count)]);
  const leftOut = all.length - entries.length;
  const odd = entries.filter(isUnknownKind).length;
  return {
    lines: [
      ...table(['KIND', 'ENTRIES'], rows),
      ...(odd === 0
        ? []
        : [`${counted(odd, 'entry', 'entries')} of kinds that this program does not know, as they are`]),
      ...(leftOut === 0 ? [] : [`${counted(leftOut, 'entry', 'entries')} left out: see above`]),
      `written to ${path}; whoever has it can put every client back, so keep it as you keep secrets`,
    ],
    json: { file: path, createdAt, counts, leftOut, sha256 },
    isIncomplete: leftOut > 0,
  };
}
