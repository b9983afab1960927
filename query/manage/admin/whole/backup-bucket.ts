import { type Backoff, backoffMs } from '../../../../infra/concurrency/backoff.ts';
import { pause } from '../../../../infra/concurrency/pause.ts';
import { isRetryable } from '../../../../infra/concurrency/retry.ts';
import {
  BucketError,
  type ObjectStore,
  type OpenUpload,
  type UploadedPart,
} from '../../../../infra/object-store/object-store.ts';
import type { NoteWriter } from '../table.ts';
import {
  type BackupPlace,
  type FileDigest,
  isOfBackup,
  MissingFileError,
  RunningDigest,
} from './backup-place.ts';

/**
 * A longer file is written in parts of this length, the minimum of storages. Two parts are in memory for each file being written
 * or read, and the store waits while one is sent: an outside ClickHouse for at most 30 seconds. An object has at most 10,000
 * parts, so a file at most 52 GB; two million rows, a file's maximum, need far less.
 */
const PART_BYTES = 5_242_880;
/** More files than a backup of thirty years has. */
const FILES_MAX = 200_000;
/** Some 20 seconds in all, because the store waits meanwhile. */
const BACKOFF: Backoff = { firstMs: 500, maxMs: 8_000 };
const RETRIES_MAX = 6;

export interface BackupBucketOptions {
  readonly store: ObjectStore;
  readonly bucket: string;
  /** In front of the names of files, without a slash at its ends; empty for none. */
  readonly prefix: string;
  readonly writeNote: NoteWriter;
  readonly backoff?: Backoff;
  readonly partBytes?: number;
}

/**
 * A backup in a bucket. A file is one object, which the storage shows only when complete. Each request is repeated while the
 * storage is unavailable or busy. A request that is rejected, or fails several times, ends in an error with its name.
 */
export class BackupBucket implements BackupPlace {
  readonly kind = 'bucket';
  readonly shown: string;
  readonly #store: ObjectStore;
  readonly #before: string;
  readonly #writeNote: NoteWriter;
  readonly #backoff: Backoff;
  readonly #partBytes: number;

  constructor({
    store,
    bucket,
    prefix,
    writeNote,
    backoff = BACKOFF,
    partBytes = PART_BYTES,
  }: BackupBucketOptions) {
    this.#before = prefix === '' ? '' : `${prefix}/`;
    this.shown = prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
    this.#store = store;
    this.#writeNote = writeNote;
    this.#backoff = backoff;
    this.#partBytes = partBytes;
  }

  async names(): Promise<readonly string[]> {
    const names = [...(await this.sizes()).keys()].map((file) => file.split('/', 1)[0] ?? '');
    return [...new Set(names)].sort();
  }

  async sizes(): Promise<ReadonlyMap<string, number>> {
    const objects = await this.#try(() => this.#store.listObjects(this.#before, FILES_MAX + 1));
    if (objects.length > FILES_MAX)
      throw new Error(`${this.shown} has more than ${FILES_MAX} objects; choose another prefix`);
    // Some programs make an empty object to show a folder.
    const files = objects.filter(({ key }) => key !== this.#before);
    return new Map(
      files.map(({ key, bytes }) => {
        if (bytes === undefined) throw new BucketError('failed', 'the storage lists no sizes of objects');
        return [key.slice(this.#before.length), bytes];
      }),
    );
  }

  async write(file: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileDigest> {
    const digest = new RunningDigest();
    const upload = new FileUpload(this.#store, this.#before + file, (request) => this.#try(request));
    let held: Uint8Array = Buffer.of();
    try {
      for await (const part of partsOf(pieces, this.#partBytes)) {
        digest.add(part);
        // Only a successor shows that a part is not the last one, so one part is held back.
        if (held.length > 0) await upload.add(held);
        held = part;
      }
      const whole = digest.end();
      await upload.end(held, whole.bytes);
      return whole;
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  async *read(file: string): AsyncGenerator<Uint8Array> {
    const get = (from: number) => this.#piece(file, from, this.#partBytes);
    let next = get(0);
    for (let from = 0; ; ) {
      const { bytes, objectBytes } = await next;
      from += bytes.length;
      const isEnd = from >= objectBytes;
      if (!isEnd) {
        next = get(from);
        // Its error is thrown where it is awaited, if the reader comes so far.
        next.catch(() => {});
      }
      yield bytes;
      if (isEnd) return;
    }
  }

  async slice(file: string, from: number, to: number): Promise<Uint8Array> {
    return (await this.#piece(file, from, to - from)).bytes;
  }

  remove(file: string): Promise<void> {
    return this.#try(() => this.#store.remove(this.#before + file));
  }

  /** Parts of an interrupted write count as nothing, but the storage keeps them. */
  async removeUnfinished(): Promise<void> {
    try {
      for (const upload of await this.#try(() => this.#store.openUploads(this.#before)))
        if (isOfBackup(upload.key.slice(this.#before.length)))
          await this.#try(() => this.#store.abortUpload(upload));
    } catch (error) {
      if (!(error instanceof BucketError)) throw error;
      // Not every key may list them, and not every storage can.
      this.#writeNote(`parts of interrupted writes may be left in the bucket: ${error.message}`);
    }
  }

  async #piece(file: string, from: number, maxBytes: number) {
    const piece = await this.#try(() => this.#store.getPiece(this.#before + file, from, maxBytes));
    if (piece === undefined) throw new MissingFileError(this, file);
    return piece;
  }

  async #try<Result>(request: (attempt: number) => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await request(attempt);
      } catch (error) {
        if (!isRetryable(error) || attempt === RETRIES_MAX) throw error;
        if (attempt === 0 && error instanceof Error) this.#writeNote(`${error.message}: trying again`);
      }
      await pause(backoffMs(this.#backoff, attempt, Math.random()));
    }
  }
}

type Try = <Result>(request: (attempt: number) => Promise<Result>) => Promise<Result>;

/** One object that is written: with one request where it is short, else in parts. */
class FileUpload {
  readonly #store: ObjectStore;
  readonly #key: string;
  readonly #try: Try;
  readonly #about: { readonly contentType: string };
  readonly #parts: UploadedPart[] = [];
  #upload: OpenUpload | undefined;

  constructor(store: ObjectStore, key: string, tryUntilDone: Try) {
    this.#store = store;
    this.#key = key;
    this.#try = tryUntilDone;
    this.#about = {
      contentType: key.endsWith('.json') ? 'application/json' : 'application/vnd.apache.parquet',
    };
  }

  async add(part: Uint8Array): Promise<void> {
    this.#upload ??= await this.#try(() => this.#store.beginUpload(this.#key, this.#about));
    const upload = this.#upload;
    const number = this.#parts.length + 1;
    this.#parts.push(await this.#try(() => this.#store.putPart(upload, number, part)));
  }

  async end(last: Uint8Array, bytes: number): Promise<void> {
    if (this.#upload === undefined) return this.#try(() => this.#store.put(this.#key, last, this.#about));
    await this.add(last);
    const upload = this.#upload;
    const isGone = (error: unknown) => error instanceof BucketError && error.code === 'NoSuchUpload';
    const wasDone = await this.#try(async (attempt) => {
      try {
        await this.#store.completeUpload(upload, this.#parts);
        return false;
      } catch (error) {
        // An attempt before may have completed it, and its answer was lost.
        if (attempt > 0 && isGone(error)) return true;
        throw error;
      }
    });
    if (wasDone && !(await this.#isThere(bytes)))
      throw new BucketError('failed', `the storage has lost the parts of ${this.#key}`);
  }

  async abort(): Promise<void> {
    if (this.#upload === undefined) return;
    // Parts that cannot be removed now are removed when the backup is repeated.
    await this.#store.abortUpload(this.#upload).catch(() => {});
  }

  async #isThere(bytes: number): Promise<boolean> {
    const [first] = await this.#try(() => this.#store.listObjects(this.#key, 1));
    return first?.key === this.#key && first.bytes === bytes;
  }
}

/** The same bytes in parts of one length; the last one may be shorter. */
async function* partsOf(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array> {
  let part = Buffer.allocUnsafe(partBytes);
  let filled = 0;
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const taken = piece.subarray(from, from + partBytes - filled);
      part.set(taken, filled);
      filled += taken.length;
      from += taken.length;
      if (filled < partBytes) continue;
      yield part;
      part = Buffer.allocUnsafe(partBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
