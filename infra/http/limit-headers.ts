import type { HeaderList } from './headers.ts';

/** The verdict of a limit on a request, and the rest of the limit after it. */
export interface Allowance {
  readonly allowed: boolean;
  /** Requests that a window allows. */
  readonly limit: number;
  /** Requests that would be allowed now. */
  readonly remaining: number;
  /** Time until more are allowed than now, in milliseconds; for a rejected request, until it would be allowed. */
  readonly resetMs: number;
}

/** The headers of an answer that was counted against a limit, in both spellings that clients read. */
export function limitHeaders({ allowed, limit, remaining, resetMs }: Allowance): HeaderList {
  const reset = String(Math.max(1, Math.ceil(resetMs / 1000)));
  const headers: [string, string][] = [
    ['RateLimit-Limit', String(limit)],
    ['RateLimit-Remaining', String(remaining)],
    ['RateLimit-Reset', reset],
    ['x-ratelimit-limit', String(limit)],
    ['x-ratelimit-remaining', String(remaining)],
    ['x-ratelimit-reset', reset],
  ];
  if (!allowed) headers.push(['Retry-After', reset]);
  return headers;
}
