import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import { markLateHours, rollUp } from '../../processor/testing/rollups.ts';
import type { Visits } from './visits.ts';

/** A site whose hours before a moment are finalized. */
export interface FinalizedSite {
  readonly store: Store;
  readonly site: StoredId;
  /** Hours before this are finalized. */
  readonly finalizedMs: number;
  /** Number of hours before `finalizedMs` that are rolled up. */
  readonly hours: number;
  readonly nowMs: number;
}

/** Rollups of a site's hours beside flushes that change them late, as the processor makes them. */
export class LateLanding {
  readonly #visits: Visits;
  /** Finalized hours that changed late since they were rolled up. */
  readonly #marked = new Set<number>();
  #block = 0;

  constructor(visits: Visits) {
    this.#visits = visits;
  }

  /** Lands the next flush of a lane, if there is one, and marks the finalized hours that it changes. */
  async land(lane: number, { store, site, finalizedMs, nowMs }: FinalizedSite): Promise<void> {
    const flush = this.#visits.nextFlush(lane);
    if (flush === undefined) return;
    const late = flush.changes.filter(({ atMs }) => atMs < finalizedMs);
    const lateHours = [...new Set(late.map(({ atMs }) => Math.floor(atMs / HOUR_MS) * HOUR_MS))];
    for (const hourMs of lateHours) this.#marked.add(hourMs);
    await markLateHours(store, {
      lane,
      flushNumber: flush.flushNumber,
      lateHours: lateHours.map((hourMs) => ({ projectId: site, hourMs })),
      nowMs,
    });
    await this.#visits.land(lane, store);
  }

  /** Lands everything of the first two lanes, with their owners knowing, and rolls up. */
  async landAll(place: FinalizedSite): Promise<void> {
    for (const lane of [0, 1]) {
      this.#visits.cut(lane);
      while (this.#visits.nextFlush(lane) !== undefined) await this.land(lane, place);
      this.#visits.complete(lane);
    }
    await this.#rollUpDue(place);
  }

  /** Rolls up all finalized hours; later those again that were marked, as the job does. */
  async #rollUpDue({ store, site, finalizedMs, hours, nowMs }: FinalizedSite): Promise<void> {
    const all = Array.from({ length: hours }, (_, index) => finalizedMs - (hours - index) * HOUR_MS);
    const startsMs = this.#block === 0 ? all : [...this.#marked];
    this.#marked.clear();
    if (startsMs.length === 0) return;
    this.#block += 2;
    await rollUp(store, {
      projectId: this.#block === 2 ? undefined : site,
      unit: 'hour',
      startsMs,
      block: this.#block,
      flushed: [this.#visits.known(0), this.#visits.known(1)],
      nowMs,
    });
  }
}
