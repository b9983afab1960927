import { type Accounts, type Client, type Site, siteKeyOf } from '../../infra/accounts/accounts.ts';
import type { ClientUses } from '../../infra/accounts/client-uses.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Mirror } from '../../infra/bus/mirror.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Config } from '../../infra/config.ts';
import type { ObjectStore } from '../../infra/object-store/object-store.ts';
import type { Delivery, Integration } from '../../processor/integration.ts';
import type { Sync } from '../../processor/search-console.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { RejectError } from '../reject.ts';
import type { Passphrases } from '../sign-in/passphrases.ts';
import type { Catalog } from './catalog.ts';
import type { RowStores } from './gsc/gsc-rows.ts';
import type { ControlRecords } from './records.ts';

/** The dependencies of all manage code. */
export interface ManageDeps {
  readonly accounts: Accounts;
  /** When clients were last used. */
  readonly uses: Pick<ClientUses, 'usedAt'>;
  readonly catalog: Catalog;
  readonly records: ControlRecords;
  /** The bucket of aliases, see ingest/entity-update.ts. */
  readonly aliases: KeyedBytes;
  readonly clock: Clock;
  /** Maximum numbers of records in a team. */
  readonly limits: Pick<Config, 'SITES_PER_TEAM_MAX' | 'CLIENTS_PER_TEAM_MAX'>;
}

/** Further dependencies of the endpoints. */
export interface EndpointDeps extends ManageDeps, RowStores {
  readonly audit: AuditLog;
  readonly passphrases: Passphrases;
  /** The key that seals secrets of integrations and connections; empty if none is configured. See infra/sealed.ts. */
  readonly secretsKey: string;
  /** The progress of the integrations, by record key. */
  readonly deliveries: Mirror<Delivery>;
  /** The state of Search Console connections, by the key of the connection. */
  readonly syncs: Mirror<Sync>;
  /** Opens the bucket of an integration, which the caller must close; undefined if its secret is unreadable. */
  readonly bucketOf: (integration: Integration) => ObjectStore | undefined;
}

/** The current time in the format of control records. */
export function nowText(clock: Clock): string {
  return new Date(clock.nowMs()).toISOString();
}

/** An active site of the client's team. A site of another team is reported as unknown, like one that does not exist. */
export function ownSite({ accounts }: ManageDeps, client: Client, id: SiteId): Site {
  const site = accounts.site(id);
  if (site === undefined || site.teamId !== client.teamId) throw noSuch('project', id);
  return site;
}

/** The same, also for a deleted site. */
export function ownSiteOrDeleted({ accounts }: ManageDeps, client: Client, id: SiteId): Site {
  const site = accounts.sites.get(siteKeyOf(id));
  if (site === undefined || site.teamId !== client.teamId) throw noSuch('project', id);
  return site;
}

/** The error for an id that is unknown or belongs to another team. */
export function noSuch(what: string, id: string): RejectError {
  return new RejectError(
    what === 'project' ? 'unknown-site' : 'unknown-record',
    `no such ${what}: ${JSON.stringify(id)}`,
  );
}

/** Sorts newest first, ties by id. */
export function newestFirst<Made extends { readonly createdAt: string; readonly id: string }>(
  all: Iterable<Made>,
): Made[] {
  return [...all].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
