import type { Bot } from '../enrich/bot.ts';
import type { Reject } from '../request/reject.ts';
import type { TrackAnswer } from './recent-answers.ts';
import type { FoundSession } from './sessions.ts';

/** Receives the outcome of a body. One of its methods is called, once. */
export interface TrackOutcome {
  /** The body is durable. */
  stored(answer: TrackAnswer): void;
  /** The body is understood and excluded. `bot` is undefined when a filter of the site matched. */
  excluded(bot: Bot | undefined): void;
  rejected(reject: Reject): void;
}

/** Receives the visitor's device and session. Called once. */
export interface IdentityOutcome {
  /** `earlier`: the device is the one under yesterday's salt, used because its session is open. */
  identified(session: FoundSession, earlier: boolean): void;
}
