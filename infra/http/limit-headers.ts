import type { HeaderList } from './http.ts';

/** Where a caller stands with a limit of requests. */
export interface LimitStanding {
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until there is more. */
  readonly resetSeconds: number;
  /** This request was one too many. */
  readonly exceeded: boolean;
}

/** The same in the words of the contract, in both spellings. */
export function limitHeaders({ limit, remaining, resetSeconds, exceeded }: LimitStanding): HeaderList {
  const reset = String(resetSeconds);
  const headers: [string, string][] = [
    ['RateLimit-Limit', String(limit)],
    ['RateLimit-Remaining', String(remaining)],
    ['RateLimit-Reset', reset],
    ['x-ratelimit-limit', String(limit)],
    ['x-ratelimit-remaining', String(remaining)],
    ['x-ratelimit-reset', reset],
  ];
  if (exceeded) headers.push(['Retry-After', reset]);
  return headers;
}
