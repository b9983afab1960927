import { Accounts, type Site, type SiteDeletion, siteSchema } from '../../infra/accounts/accounts.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson, followBucket, Mirror } from '../../infra/bus/mirror.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { ERASURE_PREFIX, type Erasure, erasureSchema } from '../erasure.ts';
import { removeFeed, removePersonFromFeed } from '../feed/feed-removal.ts';
import { INTEGRATION_PREFIX } from '../integration.ts';
import { type AliasRecord, aliasesOf, namesOfPerson, removeAliases } from './alias-records.ts';
import { removeDeadLetters } from './dead-letters.ts';
import { type EraseDeps, erasePerson } from './erase.ts';
import type { PurgeMetrics } from './purge-metrics.ts';
import { purgeRows } from './purge-site.ts';
import { enforceRetention, retainedFromMs } from './retention.ts';

/** Nothing tells that a purge is due but the clock. */
const LOOK_EVERY_MS = 1_000;
const RETENTION_EVERY_MS = 3_600_000;
const FAILED_WAIT_MS = 10_000;
/** Records about a site, besides its own. */
const OF_SITES = [
  'client.',
  'reference.',
  'dashboard.',
  'report.',
  'erasure.',
  'gsc.',
  INTEGRATION_PREFIX,
] as const;

export interface PurgerOptions extends Omit<EraseDeps, 'throwIfStopping'> {
  readonly control: KeyedBytes;
  readonly aliases: KeyedBytes;
  readonly log: Logger;
  readonly metrics: PurgeMetrics;
  /** Whether it is ours to do. Two that do it at once do no harm: all of it may be done twice. */
  readonly isOurs: () => boolean;
}

/** Thrown where work is broken off because the process ends. */
class StoppingError extends Error {
  override readonly name = 'StoppingError';
}

/**
 * Removes what is not to be kept: sites that were deleted, people who are to be erased, and what is older than its site
 * wants. All of it can be broken off and done again.
 */
export class Purger {
  readonly #options: PurgerOptions;
  readonly #parts: EraseDeps;
  readonly #accounts: Accounts;
  readonly #erasures: Mirror<Erasure>;
  readonly #stopFollowing: () => void;
  #retainedAtMs = 0;
  #retained = '';
  #isStopping = false;
  readonly #notify = new Notify();
  #running: Promise<void> = Promise.resolve();

  private constructor(
    options: PurgerOptions,
    accounts: Accounts,
    erasures: Mirror<Erasure>,
    stopFollowing: () => void,
  ) {
    this.#options = options;
    this.#accounts = accounts;
    this.#erasures = erasures;
    this.#stopFollowing = stopFollowing;
    this.#parts = {
      ...options,
      throwIfStopping: () => {
        if (this.#isStopping) throw new StoppingError();
      },
    };
  }

  /** Starts to look for work. */
  static async start(options: PurgerOptions): Promise<Purger> {
    const accounts = await Accounts.open(options.bus, options.log);
    const erasures = new Mirror<Erasure>(ERASURE_PREFIX, erasureSchema);
    const stop = await followBucket(options.control, [erasures], options.log);
    const purger = new Purger(options, accounts, erasures, stop);
    purger.#running = purger.#run();
    return purger;
  }

  /** Ends after the statement that runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#notify.end();
    await this.#running;
    this.#stopFollowing();
    this.#accounts.stop();
  }

  async #run(): Promise<void> {
    const { log, metrics, isOurs } = this.#options;
    while (!this.#isStopping) {
      let waitMs = LOOK_EVERY_MS;
      if (isOurs()) {
        try {
          await this.pass();
        } catch (error) {
          if (error instanceof StoppingError) return;
          metrics.failures.add();
          log.warn({ reason: reasonOf(error) }, 'purge: it failed; again');
          waitMs = FAILED_WAIT_MS;
        }
      }
      await this.#notify.sleep(waitMs);
    }
  }

  /** Does whatever is due by now. */
  async pass(): Promise<void> {
    const { clock } = this.#options;
    for (const { key, value } of [...this.#accounts.sites.entries()]) {
      const { deletion } = value;
      if (deletion === null || deletion.status === 'purged') continue;
      if (Date.parse(deletion.purgeAt) <= clock.nowMs()) await this.#purgeSite(key);
    }
    for (const { key, value } of [...this.#erasures.entries()]) {
      if (value.status !== 'done') await this.#erase(key, value);
    }
    await this.#retain();
  }

  async #purgeSite(key: string): Promise<void> {
    const { control, aliases, log, metrics, clock, bus } = this.#options;
    const nowText = () => new Date(clock.nowMs()).toISOString();
    const begun = await this.#changeSite(key, (deletion) => ({
      ...deletion,
      status: 'purging',
      startedAt: deletion.startedAt ?? nowText(),
    }));
    if (begun === undefined) return;
    const { id, storedId } = begun;
    log.info({ site: id }, 'purge: a deleted site goes');
    const rowsRemoved = await purgeRows(this.#parts, begun, async (step, removed) => {
      await this.#changeSite(key, (deletion) => ({ ...deletion, step, rowsRemoved: { ...removed } }));
    });
    await removeAliases(aliases, await aliasesOf(aliases, storedId));
    await removeDeadLetters(bus, [storedId]);
    await removeFeed(bus, storedId);
    for (const other of await control.keys()) {
      if (OF_SITES.some((prefix) => other.startsWith(prefix)) && (await this.#isOf(other, id)))
        await control.remove(other);
    }
    const finishedAt = nowText();
    await this.#changeSite(key, (deletion) => ({
      ...deletion,
      status: 'purged',
      step: '',
      finishedAt,
      rowsRemoved,
    }));
    metrics.sites.add();
    log.info({ site: id, rowsRemoved }, 'purge: nothing is left of a deleted site');
  }

  async #isOf(key: string, siteId: string): Promise<boolean> {
    const stored = await this.#options.control.get(key);
    if (stored?.bytes === undefined) return false;
    const record: unknown = JSON.parse(Buffer.from(stored.bytes).toString('utf8'));
    return (
      typeof record === 'object' && record !== null && 'projectId' in record && record.projectId === siteId
    );
  }

  /** Changes the deletion of a site; undefined when the site is not being deleted any more. */
  async #changeSite(
    key: string,
    change: (deletion: SiteDeletion) => SiteDeletion,
  ): Promise<Site | undefined> {
    return changeRecord(this.#options.control, key, (stored) => {
      const site = siteSchema.parse(stored);
      if (site.deletion === null || site.deletion.status === 'purged') return undefined;
      const deletion = change(site.deletion);
      if (deletion.status !== 'purged') return { ...site, deletion };
      // What is left says that there was such a site, and nothing of what it was set to.
      const { id, storedId, teamId, name, createdAt, updatedAt } = site;
      return siteSchema.parse({ id, storedId, teamId, name, createdAt, updatedAt, deletion });
    });
  }

  async #erase(key: string, erasure: Erasure): Promise<void> {
    const { aliases, log, metrics, clock, bus } = this.#options;
    const { id, storedId, profileId } = erasure;
    if (profileId === null) return;
    await this.#changeErasure(key, (current) => ({ ...current, status: 'erasing' }));
    const known = await aliasesOf(aliases, storedId);
    const names = namesOfPerson(known, profileId);
    const removed = await erasePerson(this.#parts, erasure, names);
    const theirs: AliasRecord[] = known.filter(({ alias }) => names.includes(alias));
    await removeAliases(aliases, theirs);
    for (const name of names) await removeDeadLetters(bus, [storedId, name]);
    await removePersonFromFeed(bus, storedId, names);
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
  }

  async #changeErasure(key: string, change: (erasure: Erasure) => Erasure): Promise<void> {
    await changeRecord(this.#options.control, key, (stored) => change(erasureSchema.parse(stored)));
  }

  /** Looks once an hour, and whenever somebody changed how long history is kept. */
  async #retain(): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const nowMs = clock.nowMs();
    const sites = [...this.#accounts.sites.entries()].flatMap(({ value }) =>
      value.retentionDays === null || value.deletion !== null
        ? []
        : [{ storedId: value.storedId, beforeMs: retainedFromMs(value.retentionDays, nowMs) }],
    );
    const asked = JSON.stringify(sites);
    if (asked === this.#retained && nowMs - this.#retainedAtMs < RETENTION_EVERY_MS) return;
    for (const site of sites) {
      const removed = await enforceRetention(this.#parts, site);
      const rows = Object.values(removed).reduce((sum, count) => sum + count, 0);
      if (rows > 0) log.info({ site: site.storedId, rowsRemoved: removed }, 'purge: history was let go');
      metrics.retainedRows.add(rows);
    }
    this.#retained = asked;
    this.#retainedAtMs = nowMs;
  }
}

/** Changes a record by compare-and-set until it is done; undefined when there is none, or `change` wants none. */
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
