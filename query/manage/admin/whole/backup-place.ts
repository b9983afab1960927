import { createHash } from 'node:crypto';
import { BACKED_TABLES } from '../../../../processor/backups.ts';

/** A file of a backup: its bytes, and their SHA-256 in hexadecimal. */
export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * The location of a backup of everything: a folder of this machine (`backup-folder.ts`) or a bucket (`backup-bucket.ts`). A file
 * is named by its path below the place, with `/`.
 */
export interface BackupPlace {
  readonly kind: 'folder' | 'bucket';
  /** The place as an operator names it; each file is this text, `/` and its name. */
  readonly shown: string;
  /** Names of what is directly in it, files and folders; none where it does not exist. */
  names(): Promise<readonly string[]>;
  /** The bytes of each file that is in it. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Writes a file. It appears complete and durable, or not at all, and replaces one with this name. */
  write(file: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileDigest>;
  /** The bytes of a file, from its first to its last. The iteration throws a `MissingFileError` where there is none. */
  read(file: string): AsyncIterable<Uint8Array>;
  /** Bytes of a file that exists, from `from` up to `to`, which is not one of them. */
  slice(file: string, from: number, to: number): Promise<Uint8Array>;
  /** Removes a file, if it exists. */
  remove(file: string): Promise<void>;
  /** Removes the remains of interrupted writes, which are no files. */
  removeUnfinished(): Promise<void>;
}

/** Written last: a place without it has no backup. */
export const MANIFEST_FILE = 'manifest.json';
/** The signature of the manifest, written before it. */
export const SIGNATURE_FILE = 'signature.json';
/** The instant of a backup that is not finished. */
export const UNFINISHED_FILE = 'unfinished.json';
/** The control plane, as `backup <file>` writes it. */
export const CONTROL_FILE = 'control.json';

/** More than the manifest of any backup has. */
const LISTING_MAX_BYTES = 268_435_456;
const NAMED = [MANIFEST_FILE, SIGNATURE_FILE, UNFINISHED_FILE, CONTROL_FILE];
const OF_TABLE = /^(\w+)\/[\w-]+\.parquet$/;

/** Thrown for a file that is not in the place. */
export class MissingFileError extends Error {
  override readonly name = 'MissingFileError';

  constructor(place: BackupPlace, file: string) {
    super(`${place.shown}/${file} is missing`);
  }
}

/** True if a file of this name belongs to a backup; any other is not ours to read or to remove. */
export function isOfBackup(file: string): boolean {
  const table = OF_TABLE.exec(file)?.[1];
  return NAMED.includes(file) || BACKED_TABLES.some(({ name }) => name === table);
}

/** All bytes of a file; undefined without one. A file of more than `maxBytes` is an error, before more of it is read. */
export async function bytesOf(
  place: BackupPlace,
  file: string,
  maxBytes = LISTING_MAX_BYTES,
): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of place.read(file)) {
      bytes += piece.length;
      if (bytes > maxBytes)
        throw new Error(`${place.shown}/${file} has more than ${maxBytes} bytes; use another backup`);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof MissingFileError) return undefined;
    throw error;
  }
  return Buffer.concat(pieces);
}

/** The digest of a file as it is in the place. */
export async function digestOf(place: BackupPlace, file: string): Promise<FileDigest> {
  const digest = new RunningDigest();
  for await (const piece of place.read(file)) digest.add(piece);
  return digest.end();
}

/** Removes all files of a backup except those that `keep` names. */
export async function removeOthers(place: BackupPlace, keep: ReadonlySet<string>): Promise<void> {
  for (const file of (await place.sizes()).keys())
    if (!keep.has(file) && isOfBackup(file)) await place.remove(file);
}

/** The digest of bytes that pass by. */
export class RunningDigest {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  add(piece: Uint8Array): void {
    this.#hash.update(piece);
    this.#bytes += piece.length;
  }

  end(): FileDigest {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}
