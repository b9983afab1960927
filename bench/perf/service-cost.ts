import { setTimeout as wait } from 'node:timers/promises';
import { metricOf, type ServiceTotals, type ShippedService } from '../cluster/shipped-service.ts';
import { rounded, type TableRow } from './results.ts';

/** Costs per event. Figures that a build does not report are absent. */
export type EventCost = TableRow;

// The store is asked at this pace, because each question costs some milliseconds of the CPU that is measured.
const POLL_MS = 250;
const STORED_MAX_MS = 120_000;

const EVENTS = 'ingest_events_published_total';
const ASKED = 'ingest_sessions_asked_total';
const FOUND = 'ingest_sessions_found_total';
/** Lookups of a session that only its owner knows, in a build that does not count its questions. */
const FOUND_BY_ASKING = /reason="(?:open|ended|granted|repeat)"/;
const LOOKUPS = 'ingest_session_lookups_total';
const MESSAGES = 'ingest_messages_published_total';

/** The number of events that the collectors have acknowledged. */
export async function publishedEvents(service: ShippedService): Promise<number> {
  return (await service.metric(EVENTS)) ?? 0;
}

/**
 * Waits until all events that the collectors acknowledged are in the store, and returns their number. `acknowledgedMin` is the
 * number that clients know to be acknowledged.
 */
export async function untilStored(service: ShippedService, acknowledgedMin = 0): Promise<number> {
  const endMs = Date.now() + STORED_MAX_MS;
  for (;;) {
    const published = await publishedEvents(service);
    const stored = await service.storedEvents();
    if (stored >= published && published >= acknowledgedMin) return stored;
    if (Date.now() > endMs)
      throw new Error(
        `after ${STORED_MAX_MS} ms, ${stored} events are stored; metrics count ${published}, clients ${acknowledgedMin}`,
      );
    await wait(POLL_MS);
  }
}

/** CPU microseconds per event, by process, from most to least. */
export function cpuPerEvent(
  before: ServiceTotals['cpuMicros'],
  after: ServiceTotals['cpuMicros'],
  events: number,
): EventCost {
  const spent = byPart(before, after);
  const { all = 0, ...parts } = Object.fromEntries(spent);
  const sorted = Object.entries(parts).sort(([, a], [, b]) => b - a);
  return Object.fromEntries(
    [['all', all] as const, ...sorted].map(([name, micros]) => [name, rounded(micros / events)]),
  );
}

/** Messages, inserts and the like per event. */
export function workPerEvent(before: ServiceTotals, after: ServiceTotals, events: number): EventCost {
  const metric = (name: string, labels?: RegExp): number | undefined => {
    const value = metricOf(after.metrics, name, labels);
    return value === undefined ? undefined : value - (metricOf(before.metrics, name, labels) ?? 0);
  };
  const written = Object.fromEntries(byPart(before.writtenBytes, after.writtenBytes));
  const busMessages = after.busMessages - before.busMessages;
  const counts: Readonly<Record<string, number | undefined>> = {
    questions: metric(ASKED) ?? metric(FOUND, FOUND_BY_ASKING),
    lookups: metric(LOOKUPS),
    eventMessages: metric(MESSAGES),
    busMessages,
    inserts: after.storeInserts - before.storeInserts,
    // With `sync_interval: always` the bus calls fsync once for each message that it stores.
    fsyncs: busMessages + after.storeFsyncs - before.storeFsyncs,
    busBytes: written.bus,
    storeBytes: written.store,
  };
  return Object.fromEntries(
    Object.entries(counts).flatMap(([name, count]) =>
      count === undefined ? [] : [[name, rounded(count / events)]],
    ),
  );
}

/** Sums over parts whose names differ only in a number at the end, such as several collectors. */
function byPart(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [part, value] of Object.entries(after)) {
    const name = part.replace(/[-_ ]?\d+$/, '');
    sums.set(name, (sums.get(name) ?? 0) + value - (before[part] ?? 0));
  }
  return sums;
}
