import { feedSubjectOf } from '../../infra/accounts/accounts.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { FedEvent } from '../../processor/feed/fed-event.ts';
import type { Laws } from './laws.ts';
import type { SimulatedBus } from './simulated-bus.ts';
import type { SimulatedStore } from './simulated-store.ts';

/** One site's feed from one lane, and the rows that it is compared with. */
export interface FeedBooks {
  readonly site: string;
  readonly lane: number;
  readonly bus: SimulatedBus;
  readonly store: SimulatedStore;
}

/** Checks that a feed has each stored event of its site once, with places that rise by one within each flush. */
export function checkFeed(laws: Laws, { site, lane, bus, store }: FeedBooks): void {
  const subject = feedSubjectOf(storedId(site), lane);
  const fed = bus.feed
    .filter((message) => message.subject === subject)
    .flatMap(({ bytes }) => Buffer.from(bytes).toString().trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as FedEvent);
  const stored = store
    .rows('events')
    .filter(({ values }) => values.partition === lane && values.projectId === site);
  const [fedIds, storedIds] = [fed.map(({ id }) => id), stored.map(({ values }) => String(values.id))];
  if (fedIds.toSorted().join(' ') !== storedIds.toSorted().join(' '))
    laws.onWrongFeed(
      `${site}, lane ${lane}: ${fedIds.length} events, of ${storedIds.length} that are stored`,
    );
  const next = new Map<number, number>();
  let last = 0;
  for (const { sequence } of fed) {
    const [, flush, place] = sequence;
    const expected = next.get(flush) ?? 0;
    if (flush < last || place !== expected)
      laws.onWrongFeed(`${site}, lane ${lane}: place ${place} of flush ${flush} behind ${last}`);
    next.set(flush, place + 1);
    last = flush;
  }
}
