import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { SecretGuard } from '../../infra/accounts/secret-guard.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Enrichment } from '../enrich/enrichment.ts';
import type { EntityQuestions } from '../entity-lookup.ts';
import type { EntityUpdate } from '../entity-update.ts';
import type { Event } from '../event.ts';
import type { Aliases } from '../identity/aliases.ts';
import type { Salts } from '../identity/salt.ts';
import type { DeviceIds } from '../identity/visitor.ts';
import type { Publisher } from './publisher.ts';
import type { RecentAnswers } from './recent-answers.ts';
import type { Sessions } from './sessions.ts';
import type { SiteFilters } from './site-filters.ts';
import type { Tallies } from './tallies.ts';

/** Everything that a body on its way through the collector may need. */
export interface CollectorDeps {
  readonly accounts: Accounts;
  readonly secretGuard: SecretGuard;
  readonly aliases: Aliases;
  readonly salts: Salts;
  readonly deviceIds: DeviceIds;
  readonly filters: SiteFilters;
  readonly tallies: Tallies;
  readonly sessions: Sessions;
  readonly questions: EntityQuestions;
  readonly publisher: Publisher<Event>;
  readonly records: Publisher<EntityUpdate>;
  readonly recent: RecentAnswers;
  readonly enrichment: Enrichment;
  readonly clock: Clock;
  readonly partitions: number;
}
