import { createReadStream, existsSync } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { syncFolder } from '../backup-file.ts';
import {
  type BackupPlace,
  type FileDigest,
  isOfBackup,
  MissingFileError,
  RunningDigest,
} from './backup-place.ts';

/** The end of the name of a file that is being written. */
const PART = '.part';
const READ_BYTES = 1_048_576;

/** A folder with a backup. Only its owner may enter it and read its files. */
export class BackupFolder implements BackupPlace {
  readonly kind = 'folder';
  readonly shown: string;

  /** The folder need not exist. */
  constructor(path: string) {
    this.shown = resolve(path);
  }

  async names(): Promise<readonly string[]> {
    if (!existsSync(this.shown)) return [];
    if (!(await isFolder(this.shown)))
      throw new Error(`${this.shown} is a file; choose a folder for a backup with --events`);
    return (await readdir(this.shown)).sort();
  }

  async sizes(): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    for (const file of await this.#files())
      if (!file.endsWith(PART)) sizes.set(file, (await stat(join(this.shown, file))).size);
    return sizes;
  }

  async write(file: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileDigest> {
    const path = join(this.shown, file);
    await makePrivateFolder(dirname(path));
    const part = `${path}${PART}`;
    const digest = new RunningDigest();
    const handle = await open(part, 'w', 0o600);
    try {
      try {
        for await (const piece of pieces) {
          digest.add(piece);
          await writeAll(handle, piece);
        }
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    syncFolder(dirname(path));
    return digest.end();
  }

  async *read(file: string): AsyncGenerator<Uint8Array> {
    const stream = createReadStream(join(this.shown, file), { highWaterMark: READ_BYTES });
    try {
      yield* stream as AsyncIterable<Buffer>;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new MissingFileError(this, file);
      throw error;
    }
  }

  async slice(file: string, from: number, to: number): Promise<Uint8Array> {
    const handle = await open(join(this.shown, file));
    try {
      const bytes = Buffer.alloc(to - from);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  remove(file: string): Promise<void> {
    return rm(join(this.shown, file), { force: true });
  }

  async removeUnfinished(): Promise<void> {
    for (const file of await this.#files())
      if (file.endsWith(PART) && isOfBackup(file.slice(0, -PART.length))) await this.remove(file);
  }

  /** A backup has no folders in its folders. */
  async #files(): Promise<readonly string[]> {
    const files: string[] = [];
    for (const name of await this.names()) {
      const path = join(this.shown, name);
      if (!(await isFolder(path))) files.push(name);
      else
        for (const entry of await readdir(path, { withFileTypes: true }))
          if (entry.isFile()) files.push(`${name}/${entry.name}`);
    }
    return files.sort();
  }
}

/** True if there is a folder at `path`. */
export async function isFolder(path: string): Promise<boolean> {
  return existsSync(path) && (await stat(path)).isDirectory();
}

/** True if an error reports a full disk. */
export function isFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let from = 0; from < piece.length; )
    from += (await file.write(piece, from, piece.length - from)).bytesWritten;
}
