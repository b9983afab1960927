import { type Accounts, type Client, type Site, siteKeyOf } from '../../infra/accounts/accounts.ts';
import type { Mirror } from '../../infra/bus/mirror.ts';
import type { Clock } from '../../infra/clock.ts';
import type { ObjectStore } from '../../infra/object-store/object-store.ts';
import type { Delivery, Integration } from '../../processor/integration.ts';
import { RejectError } from '../reject.ts';
import type { Catalog } from './catalog.ts';
import type { RowStore } from './gsc/gsc-rows.ts';
import type { ControlRecords } from './records.ts';

/** What managing works on. */
export interface ManageDeps {
  readonly accounts: Accounts;
  readonly catalog: Catalog;
  readonly records: ControlRecords;
  readonly clock: Clock;
}

/** What the endpoints work on besides. */
export interface EndpointDeps extends ManageDeps, RowStore {
  /** What secrets that people leave here are sealed with; empty: none can be kept. See infra/sealed.ts. */
  readonly secretsKey: string;
  /** How far the integrations are, by the keys of their records. */
  readonly deliveries: Mirror<Delivery>;
  /** The bucket of an integration, to be closed by the caller; undefined when its secret cannot be opened. */
  readonly bucketOf: (integration: Integration) => ObjectStore | undefined;
}

/** The time as records have it. */
export function nowText(clock: Clock): string {
  return new Date(clock.nowMs()).toISOString();
}

/** A site of the client's team that may be used. One of another team is as unknown as one that does not exist. */
export function ownSite({ accounts }: ManageDeps, client: Client, id: string): Site {
  const site = accounts.site(id);
  if (site === undefined || site.teamId !== client.teamId) throw noSuch('project', id);
  return site;
}

/** The same with a site that was deleted. */
export function ownSiteOrDeleted({ accounts }: ManageDeps, client: Client, id: string): Site {
  const site = accounts.sites.get(siteKeyOf(id));
  if (site === undefined || site.teamId !== client.teamId) throw noSuch('project', id);
  return site;
}

/** What is said of an id that names nothing, or something of another team. */
export function noSuch(what: string, id: string): RejectError {
  return new RejectError(
    what === 'project' ? 'unknown-site' : 'unknown-record',
    `no such ${what}: ${JSON.stringify(id)}`,
  );
}

/** Newest first; what was made in the same millisecond by id. */
export function newestFirst<Made extends { readonly createdAt: string; readonly id: string }>(
  all: Iterable<Made>,
): Made[] {
  return [...all].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
