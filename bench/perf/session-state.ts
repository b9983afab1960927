import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HOUR_MS } from '../../infra/durations.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, type Event, encodeEvent, endMessage } from '../../ingest/event.ts';
import { type Batch, openBatch } from '../../processor/fold/batch.ts';
import type { Column } from '../../processor/fold/column.ts';
import { closeBatch, nextBatch } from '../../processor/fold/cut.ts';
import { EventView } from '../../processor/fold/event-view.ts';
import { foldMessage } from '../../processor/fold/fold.ts';
import { createSliceState, type SliceState } from '../../processor/fold/slice-state.ts';

const MESSAGE_BYTES_MAX = 1_000_000;
const EVENTS_PER_MESSAGE = 500;
const MESSAGES_PER_FLUSH = 20;
const LIMITS = {
  sessionRetainMs: HOUR_MS,
  sessionsMax: 10_000_000,
  eventIdsMax: 1_000,
  publishersMax: 10,
  minuteVisitorsMax: 10_000_000,
  sitesMax: 100_000,
  grantsMax: 10,
};

/**
 * Bytes of a lane's state for each session, measured by collecting garbage before and after. So it excludes garbage and free
 * memory, which resident size includes. It includes the visitors of the minutes.
 */
export function retainedBytesPerSession(events: Iterable<Event>, count: number): number {
  const collect = garbageCollector();
  const state = createSliceState(0, LIMITS);
  collect();
  const before = process.memoryUsage().heapUsed;
  foldAll(state, events);
  collect();
  const kept = process.memoryUsage().heapUsed - before + columnBytes(state);
  if (state.sessions.count !== count) throw new Error(`${state.sessions.count} sessions, expected ${count}`);
  return kept / count;
}

function foldAll(state: SliceState, events: Iterable<Event>): void {
  const view = new EventView();
  const writer = new RowBinaryWriter(MESSAGE_BYTES_MAX);
  let batch: Batch = openBatch(1, 0);
  let sequence = 0;
  let inMessage = 0;
  const send = () => {
    if (inMessage === 0) return;
    endMessage(writer, inMessage);
    foldMessage(state, sequence, writer.take(), batch, view);
    inMessage = 0;
    if (sequence % MESSAGES_PER_FLUSH !== 0) return;
    closeBatch(state, batch);
    batch = nextBatch(batch, state.clockMs);
  };
  for (const event of events) {
    if (inMessage === 0) {
      sequence += 1;
      beginMessage(writer, { publisherId: 1n, publisherSequence: sequence, sentAtMs: event.receivedAtMs });
    }
    encodeEvent(writer, event);
    inMessage += 1;
    if (inMessage === EVENTS_PER_MESSAGE) send();
  }
  send();
  closeBatch(state, batch);
}

/** Memory outside the heap. The engine's own figure excludes the growth of columns in place. */
function columnBytes({ sessions, devices, counters, eventIds }: SliceState): number {
  const columns = [...Object.values(sessions), devices.buckets.heads].filter(isColumn);
  const minutes = [...counters.values()].flatMap((site) => [...site.minutes.values()]);
  const sets = minutes.flatMap(({ slots, visitors }) => [slots.bytes, visitors.bytes]);
  return [...columns.map(({ byteLength }) => byteLength), ...sets, eventIds.bytes].reduce(
    (sum, bytes) => sum + bytes,
    0,
  );
}

function isColumn(value: unknown): value is Column {
  return ArrayBuffer.isView(value);
}

/** The engine's own collector, which is only reachable with a flag. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    collect();
  };
}
