import type { StoredId } from '../../infra/accounts/ids.ts';

/**
 * Messages of a lane whose events of one site are kept as dead letters instead of being folded, because folding, encoding or
 * storing them failed before. Every owner of the lane leaves out the same events, so a replay gives the same state.
 */
export interface SetAside {
  readonly projectId: StoredId;
  /** First and last message, both included, by their sequence in the lane's stream. */
  readonly first: number;
  readonly last: number;
  readonly reason: string;
  /** When it was decided, by the lane's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** The store refuses the ends of the site's earlier sessions as well: these end without a row. */
  readonly withoutEnds?: true | undefined;
}

/** True if sessions of this site that end at this message do so without a row. */
export function endsWithoutRow(all: readonly SetAside[], sequence: number, projectId: StoredId): boolean {
  return all.some(
    (entry) =>
      entry.withoutEnds === true &&
      entry.projectId === projectId &&
      entry.first <= sequence &&
      sequence <= entry.last,
  );
}

/** The sites whose events of this message are set aside; undefined without any, which is the usual case. */
export function sitesSetAside(all: readonly SetAside[], sequence: number): ReadonlySet<string> | undefined {
  if (all.length === 0) return undefined;
  const sites = all.filter(({ first, last }) => first <= sequence && sequence <= last);
  return sites.length === 0 ? undefined : new Set(sites.map(({ projectId }) => projectId));
}

const REASON_CHARS_MAX = 200;

/** Data of one site could not be folded or encoded. The state of the slice is broken from here on. */
export class SiteError extends Error {
  override readonly name = 'SiteError';
  readonly projectId: StoredId;
  /** The failure is in a session of the site, so any of its events since the last flush may be the cause. */
  readonly isInSession: boolean;

  constructor(projectId: StoredId, isInSession: boolean, cause: unknown) {
    super(shortReasonOf(cause), { cause });
    this.projectId = projectId;
    this.isInSession = isInSession;
  }
}

/** The failure, as records, dead letters and logs name it. */
export function shortReasonOf(cause: unknown): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return text.slice(0, REASON_CHARS_MAX);
}
