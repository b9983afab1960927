import type { Accounts, Site } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import { RejectError } from '../reject.ts';
import type { Catalog } from './catalog.ts';

/**
 * The largest record of a team. A site with 1,000 origins of 60 characters and as many filters of each kind takes 250 KB, and every
 * process holds every record.
 */
export const RECORD_BYTES_MAX = 262_144;
/**
 * All records of a team together. 1,000 sites with 5,000 clients, and a dashboard of ten reports and ten goals each, take some 10
 * MB; only lists of filters take more.
 */
export const TEAM_BYTES_MAX = 16_777_216;
/** Maximum time that a write counts without reaching the mirror, because another write removed the record before it arrived. */
const HELD_MAX_MS = 60_000;

export interface TeamBytesLimits {
  readonly recordBytesMax: number;
  readonly teamBytesMax: number;
}

/** Something that a team owns: it names the team, its site, or a dashboard of a site. */
interface Owned {
  readonly dashboardId?: string | undefined;
  readonly teamId?: string | undefined;
  readonly storedId?: StoredId | undefined;
}

/** A write that is checked. */
export interface CountedWrite<Value> {
  readonly mirror: Mirror<Value>;
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
}

/**
 * Bytes of the control bucket by team: the sum of the mirrored records and this process's pending writes. So a process never
 * exceeds the limit. Several processes that write in the same moment may exceed it together, each by its writes that the others
 * have not yet received: milliseconds, and at most a record for each running request.
 */
export class TeamBytes {
  readonly #limits: TeamBytesLimits;
  /** The owner of a record and its bytes, by key. */
  readonly #records = new Map<string, { readonly owner: string; readonly bytes: number }>();
  readonly #byOwner = new Map<string, number>();
  readonly #teamOfSite = new Map<StoredId, string>();
  readonly #sitesOfTeam = new Map<string, Set<StoredId>>();
  readonly #dashboards: Pick<Catalog['dashboards'], 'get' | 'prefix'>;
  readonly #erasures: unknown;
  /** Bytes that are being written, by team. */
  readonly #held = new Map<string, number>();

  constructor(
    accounts: Pick<Accounts, 'sites' | 'clients'>,
    catalog: Omit<Catalog, 'stop'>,
    limits: TeamBytesLimits = { recordBytesMax: RECORD_BYTES_MAX, teamBytesMax: TEAM_BYTES_MAX },
  ) {
    this.#limits = limits;
    this.#dashboards = catalog.dashboards;
    this.#erasures = catalog.erasures;
    this.#follow(accounts.sites, (after, before) => this.#noteSite(after, before));
    this.#follow(accounts.clients);
    this.#follow(catalog.references);
    this.#follow(catalog.dashboards);
    this.#follow(catalog.segments);
    this.#follow(catalog.goals);
    this.#follow(catalog.shares);
    this.#follow(catalog.users);
    this.#follow(catalog.erasures);
    this.#follow(catalog.connections);
    this.#follow(catalog.integrations);
    this.#follow(catalog.reports);
  }

  /** Bytes that a team uses now. */
  usedBy(teamId: string): number {
    let sum = (this.#byOwner.get(ofTeam(teamId)) ?? 0) + (this.#held.get(teamId) ?? 0);
    for (const storedId of this.#sitesOfTeam.get(teamId) ?? [])
      sum += this.#byOwner.get(ofSite(storedId)) ?? 0;
    return sum;
  }

  /**
   * Writes a record, unless it is too large or its team has no room. Writes that make a record smaller are always possible, and
   * so is an erasure: a person's right does not end where a team's room does.
   * @throws {RejectError} before anything is written
   */
  async write<Value>(write: CountedWrite<Value>, put: () => Promise<number>): Promise<number> {
    const { mirror, key, value, bytes } = write;
    const growth = bytes - mirror.bytesOf(key);
    if (growth <= 0) return put();
    this.#rejectLarge(write);
    if (mirror === this.#erasures) return put();
    const teamId = this.#teamOf(value as Owned);
    if (teamId === undefined) return put();
    const used = this.usedBy(teamId) + growth;
    if (used > this.#limits.teamBytesMax)
      throw new RejectError('forbidden', teamMessage(value, used, this.#limits));
    this.#hold(teamId, growth);
    let revision: number;
    try {
      revision = await put();
    } catch (error) {
      this.#hold(teamId, -growth);
      throw error;
    }
    onceSeen(mirror, { key, revision }, () => this.#hold(teamId, -growth));
    return revision;
  }

  #rejectLarge<Value>({ value, bytes }: CountedWrite<Value>): void {
    const { recordBytesMax } = this.#limits;
    if (bytes <= recordBytesMax) return;
    const text = `${largestField(value)}: the record would take ${shown(bytes)} bytes, and one may have ${shown(recordBytesMax)}; shorten it`;
    throw new RejectError('invalid', text);
  }

  #hold(teamId: string, bytes: number): void {
    const held = (this.#held.get(teamId) ?? 0) + bytes;
    if (held === 0) this.#held.delete(teamId);
    else this.#held.set(teamId, held);
  }

  #teamOf({ teamId, storedId, dashboardId }: Owned): string | undefined {
    const site = storedId ?? this.#siteOfDashboard(dashboardId);
    return teamId ?? (site === undefined ? undefined : this.#teamOfSite.get(site));
  }

  #ownerOf({ teamId, storedId, dashboardId }: Owned): string | undefined {
    if (teamId !== undefined) return ofTeam(teamId);
    const site = storedId ?? this.#siteOfDashboard(dashboardId);
    return site === undefined ? undefined : ofSite(site);
  }

  #siteOfDashboard(id: string | undefined): StoredId | undefined {
    return this.#dashboards.get(this.#dashboards.prefix + id)?.storedId;
  }

  #follow<Value extends Owned>(
    mirror: Mirror<Value>,
    also: (after: Entry<Value> | undefined, before: Entry<Value> | undefined) => void = () => {},
  ): void {
    const note = (after: Entry<Value> | undefined, before: Entry<Value> | undefined) => {
      also(after, before);
      const key = after?.key ?? before?.key ?? '';
      this.#count(key, after === undefined ? undefined : this.#ownerOf(after.value), mirror.bytesOf(key));
    };
    for (const entry of mirror.entries()) note(entry, undefined);
    mirror.onChange(note);
  }

  #count(key: string, owner: string | undefined, bytes: number): void {
    const before = this.#records.get(key);
    if (before !== undefined) this.#add(before.owner, -before.bytes);
    if (owner === undefined) {
      this.#records.delete(key);
      return;
    }
    this.#records.set(key, { owner, bytes });
    this.#add(owner, bytes);
  }

  #add(owner: string, bytes: number): void {
    const sum = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (sum === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, sum);
  }

  #noteSite(after: Entry<Site> | undefined, before: Entry<Site> | undefined): void {
    if (before !== undefined) {
      this.#teamOfSite.delete(before.value.storedId);
      this.#sitesOfTeam.get(before.value.teamId)?.delete(before.value.storedId);
    }
    if (after === undefined) return;
    const { storedId, teamId } = after.value;
    this.#teamOfSite.set(storedId, teamId);
    const sites = this.#sitesOfTeam.get(teamId);
    if (sites === undefined) this.#sitesOfTeam.set(teamId, new Set([storedId]));
    else sites.add(storedId);
  }
}

function ofTeam(teamId: string): string {
  return `team ${teamId}`;
}

function ofSite(storedId: StoredId): string {
  return `site ${storedId}`;
}

/** Calls `done` once, when the mirror shows this revision of a record or a later one. */
function onceSeen<Value>(
  mirror: Mirror<Value>,
  { key, revision }: { readonly key: string; readonly revision: number },
  done: () => void,
): void {
  const isSeen = () => (mirror.entry(key)?.revision ?? 0) >= revision;
  if (isSeen()) {
    done();
    return;
  }
  const end = () => {
    clearTimeout(timer);
    stop();
    done();
  };
  const timer = setTimeout(end, HELD_MAX_MS).unref();
  const stop = mirror.onChange((after, before) => {
    if (isSeen() || (after === undefined && before?.key === key)) end();
  });
}

function teamMessage(value: unknown, used: number, { teamBytesMax }: TeamBytesLimits): string {
  return `${largestField(value)}: all settings of the team together would take ${shown(used)} bytes, and a team may have ${shown(teamBytesMax)}; delete or shorten some first`;
}

/** The field that takes the most room, with a dot for one inside an object. */
function largestField(value: unknown): string {
  const [name, inner] = largestOf(value);
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return name;
  const [below] = largestOf(inner);
  return below === '' ? name : `${name}.${below}`;
}

function largestOf(value: unknown): readonly [name: string, value: unknown] {
  let found: readonly [string, unknown] = ['', undefined];
  let most = -1;
  for (const [name, field] of Object.entries(value ?? {})) {
    const length = JSON.stringify(field)?.length ?? 0;
    if (length > most) {
      most = length;
      found = [name, field];
    }
  }
  return found;
}

function shown(bytes: number): string {
  return bytes.toLocaleString('en');
}
