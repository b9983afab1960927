import type { Metrics } from '../../infra/metrics.ts';
import { RECENT_HOURS_OF_SITE, WHOLE_SITE } from './answers.ts';
import { type HeldSeam, HeldSites, type HeldSitesOptions } from './held-sites.ts';
import { ListedEvents } from './listed-events.ts';
import type { HeldStatement } from './memory-statement.ts';

/** Recent hours of large sites take at most this share of the events in memory. */
const RECENT_SHARE = 0.4;

export interface HeldRowsOptions
  extends Pick<HeldSitesOptions, 'read' | 'waiting' | 'turn' | 'counting' | 'clock' | 'elapsedMs'> {
  /** Events of all sites together; some 130 bytes each, sessions included. */
  readonly eventsMax: number;
  /** A site with more events is a large one; 160,000 when absent. */
  readonly smallSiteMax?: number | undefined;
  readonly metrics: Metrics;
}

/** The rows in the memory of this process: all of small sites, and those of the recent hours of large ones. */
export class HeldRows {
  readonly #whole: HeldSites;
  readonly #recent: HeldSites;

  constructor({ eventsMax, smallSiteMax, metrics, ...reading }: HeldRowsOptions) {
    const answered = metrics.counter(
      'query_statements_held_total',
      'statements that were answered from rows in memory',
    );
    const shared = {
      ...reading,
      listed: new ListedEvents(),
      onAnswered: () => answered.add(),
      onLoaded: () => {
        this.#recent.makeRoom();
        this.#whole.makeRoom();
      },
    };
    this.#whole = new HeldSites({
      ...shared,
      part: WHOLE_SITE,
      siteMax: smallSiteMax,
      eventsMax: () => eventsMax - this.#recent.held.events,
    });
    this.#recent = new HeldSites({
      ...shared,
      part: RECENT_HOURS_OF_SITE,
      eventsMax: () => eventsMax * RECENT_SHARE,
    });
    metrics.gaugeOf('query_held_events', 'events in memory to answer questions', {}, () =>
      this.#sum(({ events }) => events),
    );
    metrics.gaugeOf('query_held_sites', 'sites with events in memory to answer questions', {}, () =>
      this.#sum(({ sites }) => sites),
    );
  }

  /**
   * The rows of an answer, as from the store; undefined where the store has to be asked.
   * @throws {RejectError} when the store is asked for what is new and does not answer
   */
  async answer(statement: HeldStatement, seam: HeldSeam): Promise<object[] | undefined> {
    const { site } = statement.parameters;
    if (this.#whole.answers(statement) && !this.#whole.isLarge(site))
      return this.#whole.answer(statement, seam);
    return this.#recent.answer(statement, seam);
  }

  /** By lane, the last flush of a small site whose rows are here; undefined if they are not. */
  flushesOf(site: string): readonly number[] | undefined {
    return this.#whole.flushesOf(site);
  }

  /** Notes what the store answered, where later answers can use it. */
  note(statement: HeldStatement, rows: readonly object[]): void {
    this.#whole.note(statement, rows);
    this.#recent.note(statement, rows);
  }

  /** Forgets what is held of a site. */
  evict(site: string): void {
    this.#whole.evict(site);
    this.#recent.evict(site);
  }

  #sum(of: (held: HeldSites['held']) => number): number {
    return of(this.#whole.held) + of(this.#recent.held);
  }
}
