import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Batch, Rows } from './batch.ts';
import { runOf } from './interned.ts';
import type { SliceState } from './slice-state.ts';

/** Bytes of one site; then its oldest flush goes. A site with more is asked of the store. */
export const SITE_BYTES_MAX = 65_536;
/** Maximum number of sites whose rows are kept; then the least recently asked one goes. */
export const SITES_MAX = 256;
/** Number of flushes without a question about a site after which its rows are no longer kept. */
export const UNASKED_FLUSHES_MAX = 60;

/** The rows of a site in one flush, and the hours they change, in milliseconds since 1970. */
export interface FlushedRows {
  readonly flushNumber: number;
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
  readonly eventRows: number;
  readonly sessionRows: number;
  readonly hours: readonly number[];
}

interface KeptSite {
  /** The first flush with all of its rows here. */
  firstFlush: number;
  askedFlush: number;
  bytes: number;
  readonly flushes: FlushedRows[];
}

/**
 * The rows of the newest flushes, for sites in the memory of a query node. After a flush the node answers its next
 * question from these rows, and reads them from the store afterwards; else each flush would make a question wait for
 * the store. Nothing is kept for a site before a question about it.
 */
export class RecentFlushes {
  /** Least recently asked first. */
  readonly #sites = new Map<string, KeptSite>();

  /**
   * The rows of a site that came to the store after the flush `held`, up to `flushNumber`, the last one in the store; undefined where they are
   * not all here. From now on, the rows of later flushes of the site are kept.
   */
  since(projectId: StoredId, held: number, flushNumber: number): readonly FlushedRows[] | undefined {
    const kept = this.#sites.get(projectId) ?? {
      firstFlush: flushNumber + 1,
      askedFlush: flushNumber,
      bytes: 0,
      flushes: [],
    };
    this.#sites.delete(projectId);
    this.#sites.set(projectId, kept);
    kept.askedFlush = flushNumber;
    if (this.#sites.size > SITES_MAX) this.#forgetFirst();
    if (held > flushNumber || held + 1 < kept.firstFlush) return undefined;
    return kept.flushes.filter((rows) => rows.flushNumber > held);
  }

  /** Keeps the rows of a batch that is now in the store. */
  keep(batch: Batch, state: SliceState): void {
    const bySite = new Map<number, KeptSite>();
    for (const [projectId, kept] of this.#sites) {
      if (batch.flushNumber - kept.askedFlush > UNASKED_FLUSHES_MAX) this.#sites.delete(projectId);
      else bySite.set(state.sites.idByText.get(runOf(projectId)) ?? 0, kept);
    }
    bySite.delete(0);
    if (bySite.size === 0) return;
    const events = rowsOfSites(batch.events, bySite);
    const sessions = rowsOfSites(batch.sessions, bySite);
    for (const [site, kept] of bySite) {
      const [eventRows = [], sessionRows = []] = [events.get(site), sessions.get(site)];
      if (eventRows.length + sessionRows.length === 0 || batch.flushNumber < kept.firstFlush) continue;
      const rows = {
        flushNumber: batch.flushNumber,
        events: Buffer.concat(eventRows),
        sessions: Buffer.concat(sessionRows),
        eventRows: eventRows.length,
        sessionRows: sessionRows.length,
        hours: [...(batch.hours.get(site) ?? [])],
      };
      kept.flushes.push(rows);
      kept.bytes += bytesOf(rows);
      while (kept.bytes > SITE_BYTES_MAX) forgetOldest(kept);
    }
  }

  /** Forgets everything up to this flush, because rows of it are about to be erased from the store. */
  forget(flushNumber: number): void {
    for (const kept of this.#sites.values()) {
      kept.flushes.length = 0;
      kept.bytes = 0;
      kept.firstFlush = Math.max(kept.firstFlush, flushNumber + 1);
    }
  }

  #forgetFirst(): void {
    for (const projectId of this.#sites.keys()) {
      this.#sites.delete(projectId);
      return;
    }
  }
}

function forgetOldest(kept: KeptSite): void {
  const oldest = kept.flushes.shift();
  if (oldest === undefined) return;
  kept.bytes -= bytesOf(oldest);
  kept.firstFlush = oldest.flushNumber + 1;
}

function bytesOf({ events, sessions }: FlushedRows): number {
  return events.length + sessions.length;
}

/** Finds the rows of each of these sites. One pass over all rows, because there may be many sites. */
function rowsOfSites(rows: Rows, sites: ReadonlyMap<number, unknown>): Map<number, Uint8Array[]> {
  const found = new Map<number, Uint8Array[]>();
  const bytes = rows.writer.bytes();
  for (let index = 0, start = 0; index < rows.ends.length; index += 1) {
    const end = rows.ends[index] ?? start;
    const site = rows.sites[index] ?? 0;
    if (sites.has(site)) {
      const row = bytes.subarray(start, end);
      const known = found.get(site);
      if (known === undefined) found.set(site, [row]);
      else known.push(row);
    }
    start = end;
  }
  return found;
}
