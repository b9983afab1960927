import { statfsSync } from 'node:fs';
import { FULL_SHARE, freeBytesOf } from '../process/free-bytes.ts';
import { exception } from './exceptions.ts';

const MIB = 1_048_576;
/** A start writes little, so that questions are answered on a disk that is too full for inserts. */
const START_SHARE = 1 / 8;

/**
 * The disk of the store. Below a quarter of `DISK_FREE_MIN_BYTES` the store writes nothing, and the engine begins no merge: the rest is for
 * the writes that run, because the engine does not notice their failure (`write-watch.ts`).
 */
export class DiskSpace {
  readonly #folder: string;
  /** The bytes that the engine, too, leaves free. */
  readonly keptFreeBytes: number;

  constructor({ folder, freeMinBytes }: { readonly folder: string; readonly freeMinBytes: number }) {
    this.#folder = folder;
    this.keptFreeBytes = Math.floor(freeMinBytes * FULL_SHARE);
  }

  /** For the metrics, which cannot wait; NaN if the file system does not report it. */
  get freeBytes(): number {
    try {
      const { bavail, bsize, blocks } = statfsSync(this.#folder);
      return blocks === 0 ? Number.NaN : bavail * bsize;
    } catch {
      return Number.NaN;
    }
  }

  /** @throws {ClickHouseException} which is retryable, when there is no room to write */
  async requireRoom(): Promise<void> {
    const reason = await this.#lack(this.keptFreeBytes);
    if (reason !== undefined) throw exception('NOT_ENOUGH_SPACE', `The store writes nothing: ${reason}.`);
  }

  /** The reason why the store cannot start; undefined when it can. */
  lackForStart(): Promise<string | undefined> {
    return this.#lack(this.keptFreeBytes * START_SHARE);
  }

  async #lack(neededBytes: number): Promise<string | undefined> {
    const freeBytes = await freeBytesOf(this.#folder);
    if (freeBytes >= neededBytes) return undefined;
    return `${Math.floor(freeBytes / MIB)} MiB are free on its disk, and ${Math.ceil(neededBytes / MIB)} MiB are needed`;
  }
}
