import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';

/** The number of rows of a whole Parquet file, as its footer says; undefined for a file that was cut off, or is none. */
export async function parquetRows(path: string): Promise<number | undefined> {
  try {
    const { num_rows: rows } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    return Number(rows);
  } catch {
    return undefined;
  }
}
