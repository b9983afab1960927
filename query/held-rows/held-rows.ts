import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Metrics } from '../../infra/metrics.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import { Otherwise, type Reason } from '../ways.ts';
import { RECENT_HOURS_OF_SITE, WHOLE_SITE } from './answers.ts';
import { type HeldSeam, HeldSites, type HeldSitesOptions } from './held-sites.ts';
import { ListedEvents } from './listed-events.ts';
import type { HeldStatement } from './memory-statement.ts';

/** Maximum share of the events in memory for recent hours of large sites. */
const RECENT_SHARE = 0.4;

export interface HeldRowsOptions
  extends Pick<HeldSitesOptions, 'read' | 'waiting' | 'turn' | 'counting' | 'clock' | 'elapsedMs'> {
  /** Events of all sites together; some 130 bytes each, sessions included. */
  readonly eventsMax: number;
  /** A site with more events is a large one; default 160,000. */
  readonly smallSiteMax?: number | undefined;
  readonly metrics: Metrics;
}

/** The rows of an answer, and the reason that memory has them. */
export interface HeldAnswer<Name extends StatementName> {
  readonly rows: AnswerRow<Name>[];
  readonly why: Reason;
}

/** The rows in this process: all rows of small sites, and the recent hours of large ones. */
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
   * The rows of an answer, equal to the store's, unless the store must be asked.
   * @throws {RejectError} when the store is asked for new rows and does not answer
   */
  async answer<Name extends StatementName>(
    statement: HeldStatement<Name>,
    seam: HeldSeam,
  ): Promise<HeldAnswer<Name> | Otherwise> {
    const { site } = statement.parameters;
    const isOfSmallSites = this.#whole.answers(statement);
    const isWhole = isOfSmallSites && !this.#whole.isLarge(site);
    const part = isWhole ? this.#whole : this.#recent;
    if (isOfSmallSites && !part.answers(statement)) return new Otherwise('large-site');
    const rows = await part.answer(statement, seam);
    return rows instanceof Otherwise ? rows : { rows, why: isWhole ? 'small-site' : 'recent-hours' };
  }

  /** By lane, the last flush of a small site with rows in memory; undefined without such rows. */
  flushesOf(site: StoredId): readonly number[] | undefined {
    return this.#whole.flushesOf(site);
  }

  /** Notes an answer of the store that later answers can use. */
  note(statement: HeldStatement, rows: readonly object[]): void {
    this.#whole.note(statement, rows);
    this.#recent.note(statement, rows);
  }

  /** Evicts a site. */
  evict(site: StoredId): void {
    this.#whole.evict(site);
    this.#recent.evict(site);
  }

  #sum(of: (held: HeldSites['held']) => number): number {
    return of(this.#whole.held) + of(this.#recent.held);
  }
}
