import type { Bot } from '../enrich/bot.ts';
import type { Reject } from '../request/reject.ts';
import type { TrackAnswer } from './recent-answers.ts';
import type { FoundSession } from './sessions.ts';

/** Who is told what became of a body. One of the three is called, once. */
export interface TrackOutcome {
  /** It is durable. */
  stored(answer: TrackAnswer): void;
  /** Understood, and not to be recorded. `bot` is undefined where the site's filters exclude it. */
  excluded(bot: Bot | undefined): void;
  rejected(reject: Reject): void;
}

/** Who is told which device and session are the visitor's. Called once. */
export interface IdentityOutcome {
  /** `earlier`: the device is the one of yesterday's salt, kept because its session is open. */
  identified(session: FoundSession, earlier: boolean): void;
}
