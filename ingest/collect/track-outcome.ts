import type { Allowance } from '../../infra/http/limit-headers.ts';
import type { Bot } from '../enrich/bot.ts';
import type { Reject } from '../request/reject.ts';
import type { TrackAnswer } from './recent-answers.ts';
import type { FoundSession } from './sessions.ts';

/** The reason why a valid body is not recorded. Each kind is a counter. */
export const EXCLUDED_BY = ['bot', 'filter', 'spam', 'replay', 'device'] as const;
export type ExcludedBy = (typeof EXCLUDED_BY)[number];

/**
 * `filter`: a filter of the site matched; `spam`: the referrer is known spam of this domain; `replay`: a part of a recorded session, which
 * is never stored; `device`: a sender without a secret wants to change a profile or group that does not belong to its device.
 */
export type Exclusion =
  | { readonly kind: 'bot'; readonly bot: Bot }
  | { readonly kind: 'spam'; readonly domain: string }
  | { readonly kind: 'device'; readonly what: 'profile' | 'group' }
  | { readonly kind: 'filter' | 'replay' };

/** Receives the outcome of a body. One of its methods is called, once. */
export interface TrackOutcome {
  /** The body is durable. */
  stored(answer: TrackAnswer): void;
  /** The body is understood and excluded. */
  excluded(exclusion: Exclusion): void;
  rejected(reject: Reject): void;
  /** The body counts against the event rate of its site. Called before the others, where a site has a rate. */
  noteRate(allowance: Allowance): void;
}

/** Receives the visitor's device and session. Called once. */
export interface IdentityOutcome {
  /** `earlier`: the device is the one under yesterday's salt, used because its session is open. */
  identified(session: FoundSession, earlier: boolean): void;
}
