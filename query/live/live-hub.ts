import type { SiteId, StoredId } from '../../infra/accounts/ids.ts';
import { assert } from '../../infra/assert.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { unitedVisitors } from '../insights/live.ts';
import { RejectError } from '../reject.ts';
import { type HotView, headsOf } from '../snapshot/hot-view.ts';
import type { ToldNumbers } from '../snapshot/told-numbers.ts';

/** Minimum time between two messages with a site's number. */
export const SENT_EVERY_MS = 250;
/** Minimum time between questions to the owners about a site without broadcasts, … */
const ASKED_EVERY_MS = 250;
/** … and the maximum number of such sites at a time; beyond it, sites take turns. */
const ASKED_AT_A_TIME_MAX = 100;
/** Interval at which each site is checked without a broadcast, and each connection may be ended. */
const LOOKED_AT_EVERY_MS = 1_000;
/** A number older than this is not sent to a new viewer. */
const FRESH_MS = 2_000;

/** Live visitors, and the time at which the number was true. */
export interface LiveReading {
  readonly visitors: number;
  readonly atMs: number;
}

/** One connection. */
export interface Viewer {
  /** True while it may stay open. Checked every second if `isTimed`, otherwise when the site's record has changed. */
  isAllowed(): boolean;
  readonly isTimed: boolean;
  /** Receives each number that is sent to the site's topics. */
  tell?(reading: LiveReading): void;
  /** Ends the connection; the hub has forgotten it. */
  end(reason: 'not-allowed' | 'stopping'): void;
}

/** A connection's access to its site's number. */
export interface Seat {
  /** The present number. Undefined while unknown; then it follows as a message. */
  reading(): LiveReading | undefined;
  leave(): void;
}

export interface LiveHubOptions {
  readonly hot: Pick<HotView, 'live'>;
  readonly told: Pick<ToldNumbers, 'watched' | 'listen'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** A value that differs when the site's record has changed. */
  readonly recordOf: (siteId: SiteId) => unknown;
  /** Sends to all subscribers; returns their number. */
  readonly send: (storedId: StoredId, reading: LiveReading) => number;
}

interface WatchedSite {
  readonly id: string;
  readonly storedId: StoredId;
  readonly viewers: Set<Viewer>;
  record: unknown;
  /** The last known number, and when it was last known to be true. */
  reading: LiveReading | undefined;
  /** The last sent number, and its time. */
  sent: number | undefined;
  sentAtMs: number;
  timer: NodeJS.Timeout | undefined;
  isAsking: boolean;
}

/**
 * The live numbers of the sites that are viewed at this process. Each site is watched once for all its viewers, and its
 * number is sent immediately when it changes, but at most once every `SENT_EVERY_MS`.
 *
 *     owners send     5    6 7 8                  8            9
 *     sent            5    6         8                         9
 *                          ├─250 ms─┤
 *
 * While an owner is unavailable, nothing is sent: a number without the visitors of one lane would be wrong.
 */
export class LiveHub {
  readonly #options: LiveHubOptions;
  readonly #sites = new Map<StoredId, WatchedSite>();
  /** Sites without broadcasts, in the order in which they were asked for. */
  readonly #untold = new Set<WatchedSite>();
  readonly #messages: Counter;
  #asking = 0;
  #ticks = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.#messages = options.metrics.counter(
      'live_messages_total',
      'numbers sent to connections, each of them counted',
    );
    options.metrics.gaugeOf('live_sites', 'sites that connections view now', {}, () => this.#sites.size);
    options.told.listen((storedIds) => {
      if (this.#sites.size === 0) return;
      for (const storedId of storedIds) {
        const site = this.#sites.get(storedId);
        if (site !== undefined) this.#look(site);
      }
    });
  }

  /** Counts a connection's first number, which is sent only to it. */
  noteMessage(): void {
    this.#messages.add();
  }

  /** Lets a connection view a site until it leaves. It subscribes to the site's topics afterwards, and then reads the number. */
  join({ id, storedId }: { readonly id: SiteId; readonly storedId: StoredId }, viewer: Viewer): Seat {
    let site = this.#sites.get(storedId);
    if (site === undefined) {
      site = {
        id,
        storedId,
        viewers: new Set(),
        record: this.#options.recordOf(id),
        reading: undefined,
        sent: undefined,
        sentAtMs: Number.NEGATIVE_INFINITY,
        timer: undefined,
        isAsking: false,
      };
      this.#sites.set(storedId, site);
      this.#timer ??= setInterval(() => this.#tick(), ASKED_EVERY_MS).unref();
    }
    const joined = site;
    // Looks before the newcomer joins: it reads for itself the number that this look sends to all others.
    this.#look(joined);
    joined.viewers.add(viewer);
    return { reading: () => this.#fresh(joined), leave: () => this.#leave(joined, viewer) };
  }

  /** Ends every connection. */
  stop(): void {
    for (const site of this.#sites.values()) for (const viewer of [...site.viewers]) viewer.end('stopping');
    for (const site of this.#sites.values()) this.#forget(site);
  }

  #fresh({ reading }: WatchedSite): LiveReading | undefined {
    if (reading === undefined) return undefined;
    return this.#options.clock.nowMs() - reading.atMs > FRESH_MS ? undefined : reading;
  }

  #leave(site: WatchedSite, viewer: Viewer): void {
    site.viewers.delete(viewer);
    if (site.viewers.size === 0) this.#forget(site);
  }

  #forget(site: WatchedSite): void {
    if (this.#sites.get(site.storedId) === site) this.#sites.delete(site.storedId);
    this.#untold.delete(site);
    clearTimeout(site.timer);
    if (this.#sites.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks % (LOOKED_AT_EVERY_MS / ASKED_EVERY_MS) === 0) {
      for (const site of [...this.#sites.values()]) {
        this.#endForbidden(site);
        if (site.viewers.size > 0) this.#look(site);
      }
      return;
    }
    for (const site of [...this.#untold]) {
      if (this.#asking >= ASKED_AT_A_TIME_MAX) return;
      this.#look(site);
    }
  }

  #endForbidden(site: WatchedSite): void {
    const record = this.#options.recordOf(site.id);
    const isChanged = record !== site.record;
    site.record = record;
    for (const viewer of [...site.viewers]) {
      if ((!isChanged && !viewer.isTimed) || viewer.isAllowed()) continue;
      this.#leave(site, viewer);
      viewer.end('not-allowed');
    }
  }

  /** Takes the number that the owners broadcast, or asks them. */
  #look(site: WatchedSite): void {
    const parts = this.#options.told.watched(site.storedId);
    if (parts === undefined) this.#ask(site);
    else {
      this.#untold.delete(site);
      this.#learn(site, unitedVisitors(parts));
    }
  }

  #ask(site: WatchedSite): void {
    // After the others, which have waited longer.
    this.#untold.delete(site);
    this.#untold.add(site);
    if (site.isAsking || this.#asking >= ASKED_AT_A_TIME_MAX) return;
    site.isAsking = true;
    this.#asking += 1;
    void this.#answered(site).finally(() => {
      site.isAsking = false;
      this.#asking -= 1;
    });
  }

  async #answered(site: WatchedSite): Promise<void> {
    let visitors: number | undefined;
    try {
      visitors = await this.visitorsOf(site.storedId);
    } catch (error) {
      if (!(error instanceof RejectError)) this.#options.log.error({ err: error }, 'live number failed');
    }
    if (this.#sites.get(site.storedId) !== site) return;
    // A broadcast that arrived in the meantime is newer than this answer.
    if (this.#options.told.watched(site.storedId) !== undefined) this.#look(site);
    else if (visitors !== undefined) this.#learn(site, visitors);
  }

  /**
   * The live visitors of a site, viewed or not; undefined while an owner is unavailable.
   * @throws {RejectError} when too many sites are asked for at the same time
   */
  async visitorsOf(storedId: StoredId): Promise<number | undefined> {
    const answers = await this.#options.hot.live(storedId);
    return answers.away.length > 0 ? undefined : unitedVisitors(headsOf(answers, 'live'));
  }

  #learn(site: WatchedSite, visitors: number): void {
    site.reading = { visitors, atMs: this.#options.clock.nowMs() };
    if (visitors === site.sent || site.timer !== undefined) return;
    const waitMs = site.sentAtMs + SENT_EVERY_MS - performance.now();
    if (waitMs <= 0) this.#send(site);
    else
      site.timer = setTimeout(() => {
        site.timer = undefined;
        if (site.reading?.visitors !== site.sent) this.#send(site);
      }, waitMs);
  }

  #send(site: WatchedSite): void {
    const { reading, viewers } = site;
    assert(reading !== undefined, 'only a known number is sent');
    site.sent = reading.visitors;
    site.sentAtMs = performance.now();
    let sent = this.#options.send(site.storedId, reading);
    for (const viewer of viewers) {
      if (viewer.tell === undefined) continue;
      viewer.tell(reading);
      sent += 1;
    }
    this.#messages.add(sent);
  }
}
