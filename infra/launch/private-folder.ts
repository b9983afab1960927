import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from './problem.mjs';

/** The rights of group and others. No file of the service has any of them. */
export const RIGHTS_OF_OTHERS = 0o077;

/**
 * Takes every right of group and others from a folder and from everything in it. Throws a `Problem` when a right stays:
 * another user owns the file, or the file system has no modes. In a closed folder others cannot reach an open file, but
 * they could reach a copy of it, such as a backup. Returns the number of open files and folders.
 */
export function makePrivate(folder: string): number {
  return closeAll(folder, true);
}

/** With `followsLinks`, links to folders are followed: a disk for one part is attached that way. Other links stay as they are. */
function closeAll(folder: string, followsLinks: boolean): number {
  let closed = close(folder);
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    const isLink = entry.isSymbolicLink();
    if (isLink && !(followsLinks && factsOf(path)?.isDirectory())) continue;
    closed += isLink || entry.isDirectory() ? closeAll(path, false) : close(path);
  }
  return closed;
}

/** Closes one file or folder. Returns 1 when it was open. */
function close(path: string): number {
  const before = factsOf(path);
  if (before === undefined || (before.mode & RIGHTS_OF_OTHERS) === 0) return 0;
  try {
    chmodSync(path, before.mode & 0o7777 & ~RIGHTS_OF_OTHERS);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 0;
    throw stayedOpen(path, before, `its mode cannot be changed (${code})`);
  }
  const after = factsOf(path);
  if (after !== undefined && (after.mode & RIGHTS_OF_OTHERS) !== 0)
    throw stayedOpen(path, after, 'its file system has no modes');
  return 1;
}

/** The problem of a file that stays open: `reason`, if this user owns it. */
function stayedOpen(path: string, { mode, uid }: { mode: number; uid: number }, reason: string) {
  const shown = (mode & 0o777).toString(8).padStart(3, '0');
  const isOwn = uid === process.geteuid?.();
  return new Problem(
    `${path} is open to other users of this machine (mode ${shown}) and cannot be closed: ${isOwn ? reason : `another user owns it (uid ${uid})`}. Change its owner, or set DATA_DIR to a folder of this user on a file system with modes.`,
  );
}

/**
 * Returns no entries of a folder that this user may not read, because it is closed to others, too; and none of a missing one: a part may
 * outlive its launcher and delete it.
 */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return [];
    throw error;
  }
}

function factsOf(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}
