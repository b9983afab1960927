import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Rows } from './batch.ts';

/** Rows sorted by site: the rows of one site are contiguous, in their order. */
export interface RowsBySite {
  readonly bytes: SharedArrayBuffer;
  /** Start and end of each site's rows. Markers of flushes belong to a site named ''. */
  readonly sites: readonly {
    readonly projectId: StoredId;
    readonly start: number;
    readonly end: number;
  }[];
}

/** Sorts rows by site, in memory that several threads can read. */
export function rowsBySite(rows: Rows, nameOf: (site: number) => StoredId): RowsBySite {
  const source = rows.writer.bytes();
  const lengths = new Map<number, number>();
  for (let index = 0, start = 0; index < rows.ends.length; index += 1) {
    const end = rows.ends[index] ?? start;
    const site = rows.sites[index] ?? 0;
    lengths.set(site, (lengths.get(site) ?? 0) + end - start);
    start = end;
  }
  const next = new Map<number, number>();
  const sites: { projectId: StoredId; start: number; end: number }[] = [];
  let length = 0;
  for (const [site, bytes] of lengths) {
    next.set(site, length);
    sites.push({ projectId: nameOf(site), start: length, end: length + bytes });
    length += bytes;
  }
  const sorted = new SharedArrayBuffer(length);
  const target = new Uint8Array(sorted);
  for (let index = 0, start = 0; index < rows.ends.length; index += 1) {
    const end = rows.ends[index] ?? start;
    const site = rows.sites[index] ?? 0;
    const place = next.get(site) ?? 0;
    target.set(source.subarray(start, end), place);
    next.set(site, place + end - start);
    start = end;
  }
  return { bytes: sorted, sites };
}
