import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../backup-file.ts';

/** A file of a backup: its bytes, and their SHA-256 in hexadecimal. */
export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

const PART = '.part';

/** Makes a folder that only its owner may enter, if it does not exist. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

/**
 * Writes a file that only its owner may read. It appears complete, and on disk, or not at all: a file without the ending
 * `.part` is whole.
 */
export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<FileDigest> {
  const part = `${path}${PART}`;
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(part, 'w', 0o600);
  try {
    try {
      for await (const piece of pieces) {
        hash.update(piece);
        await writeAll(file, piece);
        bytes += piece.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
  return { bytes, sha256: hash.digest('hex') };
}

/** The digest of a file as it is on disk. */
export async function digestOfFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1_048_576 }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Names of what is in a folder, or none if it does not exist. */
export async function namesIn(path: string): Promise<readonly string[]> {
  return existsSync(path) ? (await readdir(path)).sort() : [];
}

/** Whether there is a folder at `path`. */
export async function isFolder(path: string): Promise<boolean> {
  return existsSync(path) && (await stat(path)).isDirectory();
}

/** Removes everything in a folder except what `keep` names. */
export async function removeOthers(path: string, keep: ReadonlySet<string>): Promise<void> {
  for (const name of await namesIn(path))
    if (!keep.has(name)) await rm(join(path, name), { recursive: true, force: true });
}

/** The error as an operator needs it: a full disk says what to do. */
export function explained(error: unknown, folder: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new Error(
    `the disk of ${folder} is full; make room and repeat the command, which goes on with what is missing`,
  );
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let from = 0; from < piece.length; )
    from += (await file.write(piece, from, piece.length - from)).bytesWritten;
}
