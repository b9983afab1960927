import type { Clock } from '../infra/clock.ts';
import type { Accounts } from './accounts.ts';
import type { Aliases } from './aliases.ts';
import type { GuardedVerifier } from './brute-force.ts';
import type { Enrichment } from './enrichment.ts';
import type { Event } from './event.ts';
import type { Publisher } from './publisher.ts';
import type { RecentAnswers } from './recent-answers.ts';
import type { RecordQuestions } from './record-questions.ts';
import type { RecordUpdate } from './record-update.ts';
import type { Salts } from './salt.ts';
import type { Sessions } from './sessions.ts';
import type { SiteFilters } from './site-filters.ts';
import type { Tallies } from './tallies.ts';
import type { DeviceIds } from './visitor.ts';

/** Everything that a body on its way through the collector may need. */
export interface CollectorParts {
  readonly accounts: Accounts;
  readonly verifier: GuardedVerifier;
  readonly aliases: Aliases;
  readonly salts: Salts;
  readonly deviceIds: DeviceIds;
  readonly filters: SiteFilters;
  readonly tallies: Tallies;
  readonly sessions: Sessions;
  readonly questions: RecordQuestions;
  readonly publisher: Publisher<Event>;
  readonly records: Publisher<RecordUpdate>;
  readonly recent: RecentAnswers;
  readonly enrichment: Enrichment;
  readonly clock: Clock;
  readonly partitions: number;
}
