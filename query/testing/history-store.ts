import { join } from 'node:path';
import { Metrics } from '../../infra/metrics.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import {
  type StoreTarget,
  type StoreTargetOptions,
  startStoreTarget,
} from '../../infra/testing/store-target.ts';
import { EVENTS_COLUMNS, EVENTS_TABLE, SESSIONS_COLUMNS, SESSIONS_TABLE } from '../../processor/rows.ts';
import { preparedStore } from '../../processor/testing/prepared-store.ts';
import { History } from '../snapshot/history.ts';
import type { ModelFlush, OwnerModel } from './owner-model.ts';
import { eventBytes, sessionBytes } from './row-writer.ts';

/** A real store with the tables, for one test file. */
export interface HistoryStore {
  readonly target: StoreTarget;
  readonly store: Store;
  /** Asks the store everything. */
  readonly history: History;
  /** History from the same store, with rows of small sites in memory. */
  readonly holding: History;
  /** The same where every site is a large one, so that only recent hours are in memory. */
  readonly recent: History;
  /** The metrics of `history`. */
  readonly metrics: Metrics;
  /** Metrics of `holding`. */
  readonly holdingMetrics: Metrics;
  /** Metrics of `recent`. */
  readonly recentMetrics: Metrics;
  /** Writes a flush to the store as the processor does: events first, then sessions, each with its key. */
  land(owner: OwnerModel, flush: ModelFlush): Promise<void>;
  stop(): Promise<void>;
}

/** A history over an unreachable store. */
export function awayHistory(): History {
  const store = new Store({ url: 'http://127.0.0.1:1', database: 'footfall', requestTimeoutMs: 2_000 });
  const limits = { timeMaxMs: 1_000, memoryMaxBytes: 16_777_216 };
  return new History({
    shards: [{ store, streams: store, isReachable: () => true }],
    limits,
    metrics: new Metrics(),
  });
}

/** @param nowMs the time of `recent`, which is then fixed, however slow the machine is; the machine's clock when absent */
export async function startHistoryStore(
  nowMs?: number,
  options: StoreTargetOptions = {},
): Promise<HistoryStore> {
  const target = await startStoreTarget({ prepared: preparedStore, ...options });
  const { url, queryUrl, database, cluster } = target;
  const store = new Store({ url, database, cluster, requestTimeoutMs: 60_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  // Like in a service, questions come from the read-only user.
  const reading = new Store({ url: queryUrl, database, cluster, requestTimeoutMs: 60_000, isReadonly: true });
  // A service does this at its start: the server's features decide how hot rows are sent.
  await reading.features();
  const limits = { timeMaxMs: 30_000, memoryMaxBytes: 1_073_741_824 };
  const metrics = new Metrics();
  const holdingMetrics = new Metrics();
  const recentMetrics = new Metrics();
  const asked = { shards: [{ store: reading, streams: reading, isReachable: () => true }], limits };
  return {
    target,
    store,
    history: new History({ ...asked, metrics }),
    holding: new History({ ...asked, heldEventsMax: 600_000, metrics: holdingMetrics }),
    recent: new History({
      ...asked,
      heldEventsMax: 600_000,
      smallSiteMax: 0,
      metrics: recentMetrics,
      ...(nowMs === undefined ? {} : { clock: { nowMs: () => nowMs }, elapsedMs: () => 0 }),
    }),
    metrics,
    holdingMetrics,
    recentMetrics,
    land: async ({ lane }, { flushNumber, events, sessions }) => {
      const key = `${lane}:${flushNumber}`;
      if (events.length > 0) {
        await store.insertRowBinary(EVENTS_TABLE, EVENTS_COLUMNS, [eventBytes(events)], key);
      }
      await store.insertRowBinary(SESSIONS_TABLE, SESSIONS_COLUMNS, [sessionBytes(sessions)], key);
    },
    stop: async () => {
      await store.close();
      await reading.close();
      await target.stop();
    },
  };
}
