import { setImmediate } from 'node:timers/promises';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Clock } from '../../infra/clock.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { EVERY_FLUSH } from '../../processor/rows.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import { Otherwise } from '../ways.ts';
import { answerFrom, type HeldPart } from './answers.ts';
import { HELD_EVENT_COLUMNS } from './event-columns.ts';
import type { HotRows } from './hot-rows.ts';
import type { ListedEvents } from './listed-events.ts';
import type { HeldStatement } from './memory-statement.ts';
import { HELD_SESSION_COLUMNS } from './session-columns.ts';
import { SiteRows } from './site-rows.ts';

/** The statement whose rows have columns that are not held of every event. */
const LIST = 'event-list';
/**
 * The store answers for a site with more events, starts and ends of sessions included: counting them would block the
 * thread, which also takes events.
 */
const EVENTS_MAX = 160_000;
/**
 * The same for hot rows. Beside questions about a site with 2,000 events/s, p99 of accepted events was 89 ms with 1 MB
 * and 31 ms with this.
 */
const HOT_BYTES_MAX = 262_144;
const SITES_MAX = 2_000;
/** A second question within this time loads the site. */
const AGAIN_MS = 60_000;
/** A site found to be large is not examined again for this time. */
const LARGE_MS = 600_000;
/** Rows are loaded anew after this time, so that rows removed by the site's retention leave memory, too. */
const HELD_MAX_MS = HOUR_MS;
/** Longer than a question lives: a seam this much older than the rows is of another history, for example after a restore. */
const OLDER_SEAM_MS = 60_000;

/** The part of a seam (`snapshot/seam.ts`) that rows in memory need. */
export interface HeldSeam {
  readonly flushed: readonly number[];
  readonly stored: readonly number[];
  readonly hot: readonly HotRows[] | undefined;
  readonly partial: boolean;
}

/** A statement that loads a site's rows. */
export interface HeldQuery {
  /** File name in `sql/`, without `.sql`. */
  readonly name: 'held-size' | 'held-events' | 'held-sessions';
  readonly site: StoredId;
  readonly seam: HeldSeam;
  /** By lane, the last flush in memory; empty for none. */
  readonly behind: readonly number[];
  /** Start of the events in memory, in ms; 0 for all. */
  readonly fromMs: number;
  /** For `$COLUMNS$`. */
  readonly columns: string;
}

export interface HeldSitesOptions {
  readonly part: HeldPart;
  /** Events of all sites together; some 130 bytes each, sessions included. */
  readonly eventsMax: () => number;
  /** Events of one site; default 160,000. */
  readonly siteMax?: number | undefined;
  /** The bytes of an answer; rejects with a `RejectError`. */
  readonly read: (query: HeldQuery) => Promise<Buffer>;
  /** Waits for rows from the store, as a stage of the question. */
  readonly waiting: <Result>(wait: Promise<Result>) => Promise<Result>;
  /** Resolves when a statement about this site may count rows; call the result afterwards. */
  readonly turn: (site: StoredId) => Promise<() => void>;
  /** Counts rows, as a stage of the question. */
  readonly counting: <Result>(count: () => Result) => Result;
  readonly clock: Clock;
  /** A monotonic clock in ms; default: the process's own. */
  readonly elapsedMs?: (() => number) | undefined;
  /** Receives rows of lists. */
  readonly listed: ListedEvents;
  /** Called after loading a site, to make room for it. */
  readonly onLoaded: () => void;
  /** Called for each answered statement. */
  readonly onAnswered: () => void;
}

type HeldSite =
  | { readonly kind: 'asked'; readonly atMs: number }
  | { readonly kind: 'large'; readonly untilMs: number }
  | { readonly kind: 'loading' }
  | Held;

interface Held {
  readonly kind: 'held';
  readonly rows: SiteRows;
  /** See `HeldQuery`. */
  readonly fromMs: number;
  readonly loadedAtMs: number;
  /** A read of new rows from the store, in progress. */
  refreshing: Promise<void> | undefined;
  /** True while new rows are being added: then the rows are as of no flush. */
  isTaking: boolean;
  refreshedAtMs: number;
}

/**
 * The rows of sites in this process: all rows of small sites, or the recent hours of large ones. The store is asked
 * only for flushes since the last question, usually after its answer. README.md says why an answer equals the store's.
 */
export class HeldSites {
  readonly #part: HeldPart;
  readonly #eventsMax: () => number;
  readonly #siteMax: number;
  readonly #onLoaded: () => void;
  readonly #read: HeldSitesOptions['read'];
  readonly #waiting: HeldSitesOptions['waiting'];
  readonly #turn: HeldSitesOptions['turn'];
  readonly #counting: HeldSitesOptions['counting'];
  readonly #onAnswered: () => void;
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  readonly #listed: ListedEvents;
  /** Least recently asked first. */
  readonly #sites = new Map<StoredId, HeldSite>();

  constructor({
    part,
    eventsMax,
    siteMax,
    read,
    waiting,
    turn,
    counting,
    onAnswered,
    onLoaded,
    clock,
    elapsedMs,
    listed,
  }: HeldSitesOptions) {
    this.#part = part;
    this.#eventsMax = eventsMax;
    this.#siteMax = siteMax ?? EVENTS_MAX;
    this.#onLoaded = onLoaded;
    this.#read = read;
    this.#waiting = waiting;
    this.#turn = turn;
    this.#counting = counting;
    this.#onAnswered = onAnswered;
    this.#clock = clock;
    this.#elapsedMs = elapsedMs ?? (() => performance.now());
    this.#listed = listed;
  }

  /** Number of sites and events in memory. */
  get held(): { readonly sites: number; readonly events: number } {
    let [sites, events] = [0, 0];
    for (const site of this.#sites.values()) {
      if (site.kind !== 'held') continue;
      sites += 1;
      events += site.rows.events;
    }
    return { sites, events };
  }

  evict(site: StoredId): void {
    this.#sites.delete(site);
    this.#listed.evict(site);
  }

  /** By lane, the last flush of a site with rows in memory; undefined without such rows. */
  flushesOf(site: StoredId): readonly number[] | undefined {
    const known = this.#sites.get(site);
    return known?.kind === 'held' ? known.rows.flushed : undefined;
  }

  /** Statements of this name may be answered here. */
  answers({ name }: HeldStatement): boolean {
    return Object.hasOwn(this.#part.answers, name);
  }

  /** A site was found to have more events than memory may hold. */
  isLarge(site: StoredId): boolean {
    const known = this.#sites.get(site);
    return known?.kind === 'large' && this.#elapsedMs() <= known.untilMs;
  }

  /** Notes an answer of the store that later answers can use. */
  note({ name, parameters: { site }, texts }: HeldStatement, rows: readonly object[]): void {
    const isHeld = this.#sites.get(site)?.kind === 'held';
    if (name === LIST && isHeld) this.#listed.note(site, texts?.columns ?? '', rows);
  }

  /**
   * The rows of an answer, equal to the store's, unless the store must be asked.
   * @throws {RejectError} when the store is asked for new rows and does not answer
   */
  async answer<Name extends StatementName>(
    statement: HeldStatement<Name>,
    seam: HeldSeam,
  ): Promise<AnswerRow<Name>[] | Otherwise> {
    const { hot, partial, flushed } = seam;
    if (!this.answers(statement) || hot === undefined) return new Otherwise('no-rows-here');
    if (partial || flushed.filter((flush) => flush !== EVERY_FLUSH).length < hot.length)
      return new Otherwise('owner-away');
    if (hot.reduce((sum, rows) => sum + rows.events.length + rows.sessions.length, 0) > HOT_BYTES_MAX)
      return new Otherwise('many-hot-rows');
    const { site } = statement.parameters;
    const held = this.#heldOf(site, seam, statement);
    if (held instanceof Otherwise) return held;
    // For later questions: this one has the newest rows from the owner.
    if (isBehind(held.rows, seam.stored)) void this.#refreshed(site, held, seam).catch(() => {});
    const endTurn = await this.#turnWith(site, held, seam);
    if (endTurn === undefined) return new Otherwise('evicted');
    try {
      return this.#answerFrom(held, statement, hot);
    } finally {
      endTurn();
    }
  }

  /** Resolves when the rows are as new as the seam and it is the statement's turn; undefined if they were evicted meanwhile. */
  async #turnWith(site: StoredId, held: Held, seam: HeldSeam): Promise<(() => void) | undefined> {
    const isHere = () => this.#sites.get(site) === held;
    const isNew = () => !held.isTaking && !isBehind(held.rows, seam.flushed);
    while (isHere()) {
      while (isHere() && !isNew()) await this.#waiting(this.#refreshed(site, held, seam));
      const endTurn = await this.#turn(site);
      if (isHere() && isNew()) return endTurn;
      endTurn();
    }
    // Evicted meanwhile: the rows may have been erased.
    return undefined;
  }

  #answerFrom<Name extends StatementName>(
    held: Held,
    statement: HeldStatement<Name>,
    hot: readonly HotRows[],
  ): AnswerRow<Name>[] | Otherwise {
    const { site } = statement.parameters;
    if (statement.name === LIST) {
      const { texts, parameters } = statement;
      if (!this.#listed.isListed(Number(parameters.limit))) return new Otherwise('unknown-columns');
      this.#listed.noteHot(site, texts?.columns ?? '', hot);
    }
    const rows = this.#counting(() =>
      held.rows.withHot(hot, (view) => answerFrom(view, statement, this.#part, this.#listed)),
    );
    if (!(rows instanceof Otherwise)) this.#onAnswered();
    if (!held.rows.hasLargeAmounts && held.rows.events <= this.#siteMax) return rows;
    this.#set(site, { kind: 'large', untilMs: this.#elapsedMs() + LARGE_MS });
    return held.rows.hasLargeAmounts ? new Otherwise('large-site') : rows;
  }

  /** A site's rows for a statement, if they are in memory. Otherwise begins to load them when it is time. */
  #heldOf(site: StoredId, seam: HeldSeam, statement: HeldStatement): Held | Otherwise {
    const from = this.#part.fromOf(statement, this.#clock.nowMs());
    if (from === undefined) return new Otherwise('older-hours');
    const known = this.#sites.get(site);
    const nowMs = this.#elapsedMs();
    switch (known?.kind) {
      case 'held':
        if (
          nowMs - known.loadedAtMs > HELD_MAX_MS ||
          isOfAnotherHistory(known, seam, nowMs) ||
          from.neededFromMs < known.fromMs
        ) {
          this.#set(site, { kind: 'asked', atMs: nowMs });
          return new Otherwise('evicted');
        }
        this.#set(site, known);
        return known;
      case 'loading':
        return new Otherwise('loading');
      case 'large':
        if (nowMs > known.untilMs) this.#set(site, { kind: 'asked', atMs: nowMs });
        return new Otherwise('large-site');
      case 'asked':
        if (nowMs - known.atMs <= AGAIN_MS) {
          void this.#load(site, seam, from.loadedFromMs); // Never rejects.
          return new Otherwise('loading');
        }
        this.#set(site, { kind: 'asked', atMs: nowMs });
        return new Otherwise('not-asked-again');
      default:
        this.#set(site, { kind: 'asked', atMs: nowMs });
        return new Otherwise('not-asked-again');
    }
  }

  async #load(site: StoredId, seam: HeldSeam, fromMs: number): Promise<void> {
    const loading: HeldSite = { kind: 'loading' };
    this.#set(site, loading);
    let loaded: HeldSite = { kind: 'asked', atMs: this.#elapsedMs() - AGAIN_MS };
    try {
      if ((await this.#countEvents(site, seam, fromMs)) > Math.min(this.#siteMax, this.#eventsMax())) {
        loaded = { kind: 'large', untilMs: this.#elapsedMs() + LARGE_MS };
      } else {
        const rows = new SiteRows(site);
        await this.#take(rows, await this.#readNew(rows, { site, seam, fromMs }), { site, seam });
        const nowMs = this.#elapsedMs();
        loaded = {
          kind: 'held',
          rows,
          fromMs,
          loadedAtMs: nowMs,
          refreshing: undefined,
          isTaking: false,
          refreshedAtMs: nowMs,
        };
      }
    } catch {
      // The next question about the site tries again; the statements count their failures.
    }
    if (this.#sites.get(site) !== loading) return;
    this.#set(site, loaded);
    this.#onLoaded();
  }

  /** Reads later rows from the store, once for all questions that wait. */
  #refreshed(site: StoredId, held: Held, seam: HeldSeam): Promise<void> {
    held.refreshing ??= this.#refresh(site, held, seam).finally(() => {
      held.refreshing = undefined;
    });
    return held.refreshing;
  }

  async #refresh(site: StoredId, held: Held, seam: HeldSeam): Promise<void> {
    const { rows, fromMs } = held;
    const read = await this.#readNew(rows, { site, seam, fromMs });
    held.isTaking = true;
    try {
      await this.#take(rows, read, { site, seam });
    } finally {
      held.isTaking = false;
    }
    held.refreshedAtMs = this.#elapsedMs();
  }

  async #countEvents(site: StoredId, seam: HeldSeam, fromMs: number): Promise<number> {
    const bytes = await this.#read({ name: 'held-size', site, seam, fromMs, behind: [], columns: '' });
    return (JSON.parse(bytes.toString('utf8')) as { events: number }).events;
  }

  /** Reads the rows of later flushes, up to the last one in the store. */
  async #readNew(
    { flushed: behind }: SiteRows,
    { site, seam, fromMs }: Pick<HeldQuery, 'site' | 'seam' | 'fromMs'>,
  ): Promise<HotRows> {
    const query = { site, seam: { ...seam, flushed: seam.stored }, fromMs, behind };
    const [events, sessions] = await Promise.all([
      this.#read({ ...query, name: 'held-events', columns: HELD_EVENT_COLUMNS.join(', ') }),
      this.#read({ ...query, name: 'held-sessions', columns: HELD_SESSION_COLUMNS.join(', ') }),
    ]);
    return { events, sessions };
  }

  async #take(
    rows: SiteRows,
    read: HotRows,
    { site, seam }: Pick<HeldQuery, 'site' | 'seam'>,
  ): Promise<void> {
    try {
      await rows.take(read, seam.stored, setImmediate);
    } catch (error) {
      // Some of the rows may have been added.
      this.evict(site);
      throw error;
    }
  }

  #set(site: StoredId, state: HeldSite): void {
    this.#sites.delete(site);
    this.#sites.set(site, state);
    if (this.#sites.size > SITES_MAX) this.#evictFirst();
  }

  /** Evicts the least recently asked sites until the rest fits. */
  makeRoom(): void {
    while (this.held.events > this.#eventsMax()) this.#evictFirst();
  }

  #evictFirst(): void {
    for (const site of this.#sites.keys()) {
      this.#sites.delete(site);
      return;
    }
  }
}

/** The rows lack one of these flushes. */
function isBehind({ flushed }: SiteRows, flushes: readonly number[]): boolean {
  return flushes.some((flush, lane) => flush > (flushed[lane] ?? 0));
}

/**
 * Flush numbers only rise, and a seam is hardly older than the newest one. Before the service grew, an added lane was a
 * closed partition, all of whose flushes count as complete.
 */
function isOfAnotherHistory({ rows, refreshedAtMs }: Held, { flushed }: HeldSeam, nowMs: number): boolean {
  if (flushed.some((flush, lane) => flush < EVERY_FLUSH && rows.flushed[lane] === EVERY_FLUSH)) return true;
  const isOlder = flushed.some((flush, lane) => flush < (rows.flushed[lane] ?? 0));
  return isOlder && nowMs - refreshedAtMs > OLDER_SEAM_MS;
}
