import { Accounts, type Site, type SiteDeletion, siteSchema } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { BucketSweeper } from '../../infra/bus/bucket-sweeper.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, encodeJson, followBucket, Mirror } from '../../infra/bus/mirror.ts';
import { isRetryable } from '../../infra/concurrency/retry.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import { dropOldInstants } from '../backups/instant.ts';
import { ERASURE_PREFIX, type Erasure, erasureSchema } from '../erasure.ts';
import { removeFeed, removePersonFromFeed } from '../feed/feed-removal.ts';
import { INTEGRATION_PREFIX } from '../integration.ts';
import { JobOverError, type LeaderDeps, LeaderJob } from '../leader-job/leader-job.ts';
import {
  aliasesOf,
  aliasesOfPerson,
  namesOfPerson,
  removeAliases,
  removeAliasesOfSite,
} from './alias-records.ts';
import { removeDeadLetters } from './dead-letters.ts';
import { type Due, DueTurns } from './due.ts';
import { type EraseDeps, erasePerson } from './erase.ts';
import { ANSWER_TIMEOUT_MS, LaneEraser, type LaneEraserOptions, PostponedError } from './lane-eraser.ts';
import { OLD_PARTS_EVERY_MS, OLD_PARTS_SEARCHED_MS, removeOldParts } from './old-parts.ts';
import type { PurgeMetrics } from './purge-metrics.ts';
import { purgeRows } from './purge-site.ts';
import { enforceRetention, retainedFromMs } from './retention.ts';
import { clearStreamFiles } from './stream-files.ts';

/** Purges fall due by the clock, which wakes nothing. */
const LOOK_EVERY_MS = 1_000;
const RETENTION_EVERY_MS = HOUR_MS;
/** The wait until retention looks again at rows of stuck lanes. */
const RETENTION_POSTPONED_MS = 60_000;
/** Interval between searches for copies for backups that are no longer needed. */
const INSTANTS_EVERY_MS = 600_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** People whose receipts are finished together, because files are cleared for all of them together. */
const PEOPLE_AT_ONCE = 20;
/** Control records about a site, besides its own. */
const OF_SITES = [
  'client.',
  'reference.',
  'dashboard.',
  'report.',
  'segment.',
  'goal.',
  'share.',
  'erasure.',
  'gsc.',
  INTEGRATION_PREFIX,
] as const;

export interface PurgerOptions extends LeaderDeps, Pick<LaneEraserOptions, 'lanes' | 'nameOf'> {
  readonly bus: Bus;
  readonly stores: PerShard<Store>;
  readonly rollups: PerShard<EraseDeps['rollupJob']>;
  /** The bucket of lane records. */
  readonly laneRecords: KeyedBytes;
  readonly control: KeyedBytes;
  readonly aliases: KeyedBytes;
  readonly metrics: PurgeMetrics;
  /** Time that a lane may take to erase before it is stuck. */
  readonly answerTimeoutMs?: number;
  /** See `BucketSweeperOptions`. */
  readonly markerAgeMs?: number;
}

/** The last write of a purge or an erasure, once files are clear. */
type Finish = () => Promise<void>;

/**
 * Removes deleted sites, people to be erased, and history that is older than its site retains. All of it can be
 * interrupted anywhere and repeated.
 *
 * Sites and people need all lanes. While one is stuck they wait, and retention removes the rows of the others.
 */
export class Purger {
  readonly #options: PurgerOptions;
  readonly #job: LeaderJob;
  readonly #eraser: LaneEraser;
  readonly #accounts: Accounts;
  readonly #erasures: Mirror<Erasure>;
  readonly #sweepers: readonly BucketSweeper[];
  readonly #stopFollowing: () => void;
  /** The rules that retention enforced last, as JSON, and the time of its next check. */
  #retained = '';
  #retentionDueMs = 0;
  /** The rules of a pass of retention that has not ended, and the sites that it has finished. */
  #retaining = '';
  readonly #retainedSites = new Set<string>();
  #isRetentionPostponed = false;
  #oldPartsDueMs = 0;
  #instantsDueMs = 0;

  private constructor(options: PurgerOptions, followed: Followed) {
    this.#options = options;
    this.#accounts = followed.accounts;
    this.#erasures = followed.erasures;
    this.#sweepers = followed.sweepers;
    this.#stopFollowing = followed.stopFollowing;
    this.#job = new LeaderJob({
      ...options,
      name: 'purge',
      intervalMs: LOOK_EVERY_MS,
      backoff: BACKOFF,
      pass: () => this.pass(),
      standBy: () => this.#showWaiting({ sites: 0, people: 0, stuck: 0 }),
    });
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
    this.#eraser = new LaneEraser({ ...options, job: this.#job, answerTimeoutMs });
  }

  /** Starts to look for work. */
  static async start(options: PurgerOptions): Promise<Purger> {
    const accounts = await Accounts.open(options.bus, options.log);
    const erasures = new Mirror<Erasure>(ERASURE_PREFIX, erasureSchema);
    const stopFollowing = await followBucket(options.control, [erasures], options.log);
    const { control, aliases } = options;
    const sweepers = await Promise.all(
      [control, aliases].map((bucket) => BucketSweeper.open({ ...options, bucket })),
    );
    const purger = new Purger(options, { accounts, erasures, sweepers, stopFollowing });
    purger.#job.start();
    return purger;
  }

  /** Ends after the statement that runs. */
  async stop(): Promise<void> {
    await this.#job.stop();
    this.#eraser.stop();
    for (const sweeper of this.#sweepers) sweeper.stop();
    this.#stopFollowing();
    this.#accounts.stop();
  }

  /**
   * Does all due work. A failure of one site or person does not stop the others; the first error is thrown at the end.
   * @throws the first error
   */
  async pass(): Promise<void> {
    const errors: unknown[] = [];
    const attempt = async (work: () => Promise<void>) => {
      this.#job.throwIfOver();
      try {
        await work();
      } catch (error) {
        // Without the bus or the store the others would fail, too.
        if (error instanceof JobOverError || isRetryable(error)) throw error;
        if (!isStuck(error)) errors.push(error);
      }
    };
    const sites = new DueTurns();
    const people = new DueTurns();
    this.#showWaiting({
      sites: this.#dueSites().length,
      people: this.#dueErasures().length,
      stuck: this.#eraser.stuck.length,
    });
    const isAnyDue = () => people.isAny(this.#dueErasures()) || sites.isAny(this.#dueSites());
    // One site, then a batch of people: new requests are looked up each time.
    while (isAnyDue()) {
      for (const { key } of sites.next(this.#dueSites(), 1))
        await attempt(() => this.#unlessStuck(async () => this.#finish([await this.#purgeSite(key)])));
      const finishes: (Finish | undefined)[] = [];
      for (const { key, value } of people.next(this.#dueErasures(), PEOPLE_AT_ONCE))
        await attempt(() => this.#unlessStuck(async () => void finishes.push(await this.#erase(key, value))));
      await attempt(() => this.#unlessStuck(() => this.#finish(finishes)));
    }
    await attempt(() => this.#retain(isAnyDue));
    for (const sweeper of this.#sweepers) await attempt(() => sweeper.sweep());
    await attempt(() => this.#removeOldParts());
    await attempt(() => this.#removeOldInstants());
    if (errors.length > 0) throw errors[0];
  }

  /** Dependencies of removing a site's rows. */
  #depsOf(storedId: StoredId): EraseDeps {
    const { lanes, stores, rollups } = this.#options;
    const inShard = { store: stores.ofSite(storedId), rollupJob: rollups.ofSite(storedId) };
    return { ...inShard, lanes, storeShards: stores.all.length, eraser: this.#eraser, job: this.#job };
  }

  /** Looks for old files of the store while receipts are new. */
  async #removeOldParts(): Promise<void> {
    const { stores, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs < this.#oldPartsDueMs) return;
    const erased = [...this.#erasures.entries()].map(({ value }) => value.finishedAt);
    const purged = [...this.#accounts.sites.entries()].map(({ value }) => value.deletion?.finishedAt);
    const finishedMs = [...erased, ...purged].map((at) => Date.parse(at ?? ''));
    const newMs = finishedMs.filter((ms) => nowMs - ms < OLD_PARTS_SEARCHED_MS);
    const lastMs = newMs.reduce((a, b) => Math.max(a, b), 0);
    if (newMs.length > 0) for (const store of stores.all) await removeOldParts(store, lastMs);
    this.#oldPartsDueMs = nowMs + OLD_PARTS_EVERY_MS;
  }

  /** Copies kept by an interrupted backup may contain people who were erased since. */
  async #removeOldInstants(): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < this.#instantsDueMs) return;
    for (const store of this.#options.stores.all) await dropOldInstants(store);
    this.#instantsDueMs = nowMs + INSTANTS_EVERY_MS;
  }

  /** Clears the files of the lanes' streams, and then writes the receipts. */
  async #finish(finishes: readonly (Finish | undefined)[]): Promise<void> {
    const due = finishes.filter((finish) => finish !== undefined);
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS } = this.#options;
    if (due.length > 0)
      await clearStreamFiles({ ...this.#options, eraser: this.#eraser, job: this.#job, answerTimeoutMs });
    for (const finish of due) await finish();
  }

  /** Leaves work that needs every lane to a later pass while one is stuck: no message, no record, no statement. */
  async #unlessStuck(work: () => Promise<void>): Promise<void> {
    if (this.#eraser.stuck.length === 0) await work();
  }

  /** The sites whose deletion is due. */
  #dueSites(): readonly Due[] {
    const nowMs = this.#options.clock.nowMs();
    return [...this.#accounts.sites.entries()].flatMap(({ key, value: { teamId, deletion } }) =>
      deletion !== null && isDue(deletion, nowMs) ? [{ key, teamId, askedAt: deletion.purgeAt }] : [],
    );
  }

  #dueErasures(): readonly (Due & Entry<Erasure>)[] {
    return [...this.#erasures.entries()].flatMap((entry) => {
      const { status, teamId, createdAt } = entry.value;
      return status === 'done' ? [] : [{ ...entry, teamId, askedAt: createdAt }];
    });
  }

  #showWaiting({ sites, people, stuck }: Readonly<Record<'sites' | 'people' | 'stuck', number>>): void {
    const { metrics } = this.#options;
    metrics.waitingSites.set(sites);
    metrics.waitingPeople.set(people);
    metrics.stuckLanes.set(stuck);
  }

  /** Removes a site; returns the function that finishes its purge, or undefined when it is no longer due. */
  async #purgeSite(key: string): Promise<Finish | undefined> {
    const { control, aliases, log, metrics, clock, bus } = this.#options;
    const nowText = () => new Date(clock.nowMs()).toISOString();
    // The record may have changed since it was due: a restore, and perhaps another deletion.
    const begun = await this.#changeSite(key, (deletion) =>
      isDue(deletion, clock.nowMs())
        ? { ...deletion, status: 'purging', startedAt: deletion.startedAt ?? nowText() }
        : undefined,
    );
    if (begun === undefined) return undefined;
    const { id, storedId } = begun;
    log.info({ site: id }, 'purge: removing a deleted site');
    const rowsRemoved = await purgeRows(this.#depsOf(storedId), begun, async (step, removed) => {
      await this.#changeSite(key, (deletion) => ({ ...deletion, step, rowsRemoved: { ...removed } }));
    });
    await removeAliasesOfSite(aliases, storedId);
    await removeDeadLetters(bus, [storedId]);
    await removeFeed(bus, storedId, () => this.#job.throwIfOver());
    for (const other of await control.keys()) {
      if (OF_SITES.some((prefix) => other.startsWith(prefix)) && (await this.#isOf(other, id)))
        await control.remove(other);
    }
    return async () => {
      const finishedAt = nowText();
      await this.#changeSite(key, (deletion) => ({
        ...deletion,
        status: 'purged',
        step: '',
        finishedAt,
        rowsRemoved,
      }));
      metrics.sites.add();
      log.info({ site: id, rowsRemoved }, 'purge: a deleted site was removed');
    };
  }

  async #isOf(key: string, siteId: string): Promise<boolean> {
    const stored = await this.#options.control.get(key);
    if (stored?.bytes === undefined) return false;
    const record: unknown = JSON.parse(Buffer.from(stored.bytes).toString('utf8'));
    if (typeof record !== 'object' || record === null || !('projectId' in record)) return false;
    // A root client belongs to the team, even if its record names a site.
    const isRoot = key.startsWith('client.') && 'type' in record && record.type === 'root';
    return record.projectId === siteId && !isRoot;
  }

  /**
   * Changes the deletion of a site; undefined when the site is no longer being deleted, or `change` wants none. One
   * compare-and-set decides between the beginning of a purge and a restore.
   */
  async #changeSite(
    key: string,
    change: (deletion: SiteDeletion) => SiteDeletion | undefined,
  ): Promise<Site | undefined> {
    return changeRecord(this.#options.control, key, (stored) => {
      const site = siteSchema.parse(stored);
      if (site.deletion === null || site.deletion.status === 'purged') return undefined;
      const deletion = change(site.deletion);
      if (deletion === undefined) return undefined;
      if (deletion.status !== 'purged') return { ...site, deletion };
      // The record still shows that the site existed, without its settings.
      const { id, storedId, teamId, name, createdAt, updatedAt } = site;
      return siteSchema.parse({ id, storedId, teamId, name, createdAt, updatedAt, deletion });
    });
  }

  /** Erases a person; returns the function that finishes the receipt, or undefined when that is done. */
  async #erase(key: string, erasure: Erasure): Promise<Finish | undefined> {
    const { aliases, log, metrics, clock, bus } = this.#options;
    const { id, storedId, profileId } = erasure;
    if (profileId === null) return undefined;
    const known = await aliasesOf(aliases, storedId);
    const names = namesOfPerson(known, profileId);
    const { erased, undone } = aliasesOfPerson(known, names);
    // Counted before they are removed: a pass after an interruption no longer finds them.
    const begun = await this.#changeErasure(key, (current) => ({
      ...current,
      status: 'erasing',
      aliasesErased: Math.max(current.aliasesErased, erased.length),
      aliasesUndone: Math.max(current.aliasesUndone, undone.length),
    }));
    if (begun === undefined) return undefined;
    const removed = await erasePerson(this.#depsOf(storedId), erasure, names);
    await removeAliases(aliases, [...erased, ...undone]);
    for (const name of names) await removeDeadLetters(bus, [storedId, name]);
    await removePersonFromFeed(bus, storedId, names);
    return async () => {
      const at = new Date(clock.nowMs()).toISOString();
      await this.#changeErasure(key, (current) => ({
        ...current,
        status: 'done',
        profileId: null,
        updatedAt: at,
        finishedAt: at,
        rowsRemoved: removed,
      }));
      metrics.people.add();
      log.info({ erasure: id, rowsRemoved: removed }, 'purge: a person was erased');
    };
  }

  /** Changes an erasure; undefined when it is done or gone, which the mirror may learn later. */
  async #changeErasure(key: string, change: (erasure: Erasure) => Erasure): Promise<Erasure | undefined> {
    return changeRecord(this.#options.control, key, (stored) => {
      const erasure = erasureSchema.parse(stored);
      return erasure.status === 'done' ? undefined : change(erasure);
    });
  }

  /**
   * Looks once an hour, and whenever the retention of a site changed. It ends early, to continue in the next pass, when a person or a site
   * is to be removed, because history may wait longer than they may.
   */
  async #retain(isAnyDue: () => boolean): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const nowMs = clock.nowMs();
    const cuts = [...this.#accounts.sites.entries()].flatMap(({ value }) =>
      value.retentionDays === null || value.deletion !== null
        ? []
        : [{ storedId: value.storedId, beforeMs: retainedFromMs(value.retentionDays, nowMs) }],
    );
    const wanted = JSON.stringify(cuts);
    const isUnstuck = this.#isRetentionPostponed && this.#eraser.stuck.length === 0;
    if (wanted === this.#retained && nowMs < this.#retentionDueMs && !isUnstuck) return;
    if (wanted !== this.#retaining) this.#retainedSites.clear();
    this.#retaining = wanted;
    let postponed = 0;
    for (const cut of cuts) {
      this.#job.throwIfOver();
      if (this.#retainedSites.has(cut.storedId)) continue;
      if (this.#eraser.stuck.length === 0 && isAnyDue()) return;
      const { rowsRemoved, isPostponed } = await enforceRetention(this.#depsOf(cut.storedId), cut);
      if (isPostponed) postponed += 1;
      else this.#retainedSites.add(cut.storedId);
      const rows = Object.values(rowsRemoved).reduce((sum, count) => sum + count, 0);
      if (rows > 0) log.info({ site: cut.storedId, rowsRemoved }, 'purge: old history was removed');
      metrics.retainedRows.add(rows);
    }
    if (postponed > 0)
      log.warn({ sites: postponed, lanes: this.#eraser.stuck }, 'purge: old history of stuck lanes stays');
    this.#retainedSites.clear();
    this.#retained = wanted;
    this.#isRetentionPostponed = postponed > 0;
    this.#retentionDueMs = nowMs + (postponed > 0 ? RETENTION_POSTPONED_MS : RETENTION_EVERY_MS);
  }
}

/** Records that a purger follows while it runs. */
interface Followed {
  readonly accounts: Accounts;
  readonly erasures: Mirror<Erasure>;
  readonly sweepers: readonly BucketSweeper[];
  readonly stopFollowing: () => void;
}

/** True if a purge may begin or continue. */
function isDue({ status, purgeAt }: SiteDeletion, nowMs: number): boolean {
  return status === 'purging' || (status === 'waiting' && Date.parse(purgeAt) <= nowMs);
}

/** True if the error only means that lanes have to answer first, which does not fail the pass. */
function isStuck(error: unknown): boolean {
  return error instanceof PostponedError && error.reason !== 'answer-lost';
}

/**
 * Changes a record by compare-and-set, repeated on conflict; undefined when there is no record, or `change` wants none.
 */
async function changeRecord<Value>(
  bucket: KeyedBytes,
  key: string,
  change: (stored: unknown) => Value | undefined,
): Promise<Value | undefined> {
  for (;;) {
    const stored = await bucket.get(key);
    if (stored?.bytes === undefined) return undefined;
    const next = change(JSON.parse(Buffer.from(stored.bytes).toString('utf8')));
    if (next === undefined) return undefined;
    try {
      await bucket.put(key, encodeJson(next), stored.revision);
      return next;
    } catch (error) {
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
    }
  }
}
