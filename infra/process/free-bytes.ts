import { statfs } from 'node:fs/promises';

/** Share of `DISK_FREE_MIN_BYTES` below which a disk counts as full: writes may fail at any moment. Same as in `launch/disk.ts`. */
export const FULL_SHARE: number = 1 / 4;

/** The bytes that programs without privileges may still write in this folder; infinite where the file system does not say. */
export async function freeBytesOf(folder: string): Promise<number> {
  try {
    const { bavail, bsize, blocks } = await statfs(folder);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
