import { parquetMetadataAsync } from 'hyparquet';
import { BucketError } from '../../../../infra/object-store/object-store.ts';
import type { BackupPlace } from './backup-place.ts';

/** The number of rows of a whole Parquet file, from its footer; undefined for a file that is truncated, or not Parquet. */
export async function parquetRows(
  place: BackupPlace,
  file: string,
  byteLength: number,
): Promise<number | undefined> {
  const slice = async (from: number, to = byteLength) => {
    const { buffer, byteOffset, length } = await place.slice(file, from, to);
    return buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  };
  try {
    const { num_rows: rows } = await parquetMetadataAsync({ byteLength, slice });
    return Number(rows);
  } catch (error) {
    // An unavailable storage says nothing about the file.
    if (error instanceof BucketError) throw error;
    return undefined;
  }
}
