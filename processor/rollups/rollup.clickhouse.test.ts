import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type StoreTarget, startStoreTarget } from '../../infra/testing/store-target.ts';
import type { Event } from '../../ingest/event.ts';
import { eventLists } from '../../ingest/testing/events.ts';
import { EVENTS_COLUMNS, SESSIONS_COLUMNS } from '../rows.ts';
import { keepHourlyPages } from '../testing/rollups.ts';
import { recountRollups } from '../testing/rollups-recount.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { announcedRollups, announcedRows, namesOfHashes, ROLLUP_TABLES } from '../testing/stored-rollups.ts';
import type { StoredRow } from '../testing/stored-rows.ts';
import { rollUp } from './rollup.ts';
import { ROLLUP_UNITS, type RollupUnit, startOfUnit, UNITS } from './units.ts';

const RUNS = 6;
/** Long lists: each costs the store time, and short ones cover nothing that a long one does not. */
const EVENTS = { minLength: 30, maxLength: 50 };

const KNOWN = 'known';

let target: StoreTarget;
let store: Store;

beforeAll(async () => {
  target = await startStoreTarget({ database: 'rollup_test' });
  const { url, database, cluster } = target;
  store = new Store({ url, database, cluster, requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  await keepHourlyPages(store);
});

afterAll(async () => {
  await store.close();
  await target.stop();
});

async function empty(): Promise<void> {
  for (const table of ['events', 'sessions', ...ROLLUP_TABLES])
    await store.command(`TRUNCATE TABLE ${table}`);
}

/** A lane whose flushes reach the store. */
class StoredLane {
  readonly run = new FoldRun();
  /** The number of rows after each flush. A row that replaces a state has the number of the flush that wrote it. */
  readonly #ends = [{ events: 0, sessions: 0 }];

  get flushes(): number {
    return this.#ends.length - 1;
  }

  async flush(): Promise<void> {
    this.run.flush();
    const bytes = (rows: readonly StoredRow[]) => rows.map((row) => row.bytes);
    const before = must(this.#ends.at(-1), 'it begins with none');
    const events = bytes(this.run.events.slice(before.events));
    const sessions = bytes(this.run.sessions.slice(before.sessions));
    if (events.length > 0) await store.insertRowBinary('events', EVENTS_COLUMNS, events, undefined);
    if (sessions.length > 0) await store.insertRowBinary('sessions', SESSIONS_COLUMNS, sessions, undefined);
    this.#ends.push({ events: this.run.events.length, sessions: this.run.sessions.length });
  }

  /** The rows after this many flushes. */
  rows(flushes: number): { events: StoredRow[]; sessions: StoredRow[] } {
    const { events, sessions } = must(this.#ends[flushes], 'so many flushes came');
    return { events: this.run.events.slice(0, events), sessions: this.run.sessions.slice(0, sessions) };
  }

  /** The hours or days with any rows, and the ones next to them. */
  starts(unit: RollupUnit): readonly number[] {
    const times = [
      ...this.run.events.map(({ values }) => Number(values.createdAt)),
      ...this.run.sessions.flatMap(({ values }) =>
        values.projectId === '' ? [] : [Number(values.startedAt)],
      ),
    ];
    const { ms } = UNITS[unit];
    return [...new Set(times.flatMap((time) => [-1, 0, 1].map((off) => startOfUnit(unit, time + off * ms))))];
  }
}

/** Every fifth event is followed by one of the same device that names its profile. */
function withProfiles(events: readonly Event[]): readonly Event[] {
  return events.flatMap((event, index) => {
    const { occurredAtMs, receivedAtMs } = event;
    const next = { occurredAtMs: occurredAtMs + 1, receivedAtMs: receivedAtMs + 1 };
    return index % 5 === 4 ? [event, { ...event, ...next, eventId: '', profileId: KNOWN }] : [event];
  });
}

/** A test's step after an event. */
const step = fc.oneof(
  { weight: 40, arbitrary: fc.constant({ kind: 'nothing' } as const) },
  { weight: 6, arbitrary: fc.constant({ kind: 'flush' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'roll up', site: undefined, chosen: 0 } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('roll up' as const),
      site: fc.constantFrom('demo', 'shop', 'größe'),
      chosen: fc.integer({ min: 0, max: 3 }),
    }),
  },
);

test('a rollup equals a recount of the rows that were in the store', async () => {
  let block = 0;
  const seen = { rows: 0, changed: 0 };
  await fc.assert(
    fc.asyncProperty(
      eventLists(EVENTS),
      fc.array(step, { minLength: EVENTS.maxLength, maxLength: EVENTS.maxLength }),
      async (events, steps) => {
        await empty();
        const lane = new StoredLane();
        const all = withProfiles(events);
        for (const [index, event] of all.entries()) {
          // No two sessions have the same id.
          const sessionId = event.sessionId === '' ? '' : `${index + 1}`.padStart(32, '0');
          lane.run.take(messageOf([{ ...event, sessionId }], index + 1));
          const next = steps[index] ?? { kind: 'nothing' };
          const isLast = index === all.length - 1;
          const isBeforeProfile = event.profileId === '' && all[index + 1]?.profileId === KNOWN;
          if (next.kind !== 'nothing' || isLast || isBeforeProfile) await lane.flush();
          if (next.kind !== 'roll up' && !isLast) continue;
          const site = next.kind === 'roll up' && next.site !== undefined ? storedId(next.site) : undefined;
          const chosen = next.kind === 'roll up' ? next.chosen : 0;
          block += 2;
          for (const unit of ROLLUP_UNITS) {
            const starts = lane.starts(unit).filter((_, index) => site === undefined || index % 4 !== chosen);
            const flushed = [lane.flushes];
            await rollUp(store, { projectId: site, unit, startsMs: starts, block, flushed, nowMs: 0 });
          }
        }
        seen.changed += changedVisitors(lane.run.sessions);
        seen.rows += await compare(lane);
      },
    ),
    // Shrinking takes minutes.
    { numRuns: RUNS, endOnFailure: true },
  );
  // Guards against a run without anything to compare.
  expect(seen.rows).toBeGreaterThan(RUNS * 50);
  // Some three of each run, so that this few are seen once in a hundred thousand times.
  expect(seen.changed).toBeGreaterThan(RUNS / 2);
});

/** Compares rollups with recounts, for each flush that some of them reach up to. Returns the number of rollup rows. */
async function compare(lane: StoredLane): Promise<number> {
  const sites = ['demo', 'shop', 'größe'];
  const all = lane.rows(lane.flushes);
  const names = await namesOfHashes(store, [...all.events, ...all.sessions]);
  let count = 0;
  for (const unit of ROLLUP_UNITS) {
    const announced = await announcedRollups(store, unit, sites);
    for (const flush of new Set(announced.map(({ flushed }) => flushed[0] ?? 0))) {
      const meant = announced.filter(({ flushed }) => flushed[0] === flush);
      const keys = new Set(meant.map(({ projectId, startMs }) => `${projectId} ${startMs}`));
      const found = await announcedRows(store, unit, meant, names);
      for (const [table, rows] of Object.entries(recountRollups(unit, lane.rows(flush)))) {
        const wanted = rows.filter(({ projectId, start }) => keys.has(`${projectId} ${start}`));
        expect(found[table], `${table} up to flush ${flush}`).toEqual(wanted);
        count += wanted.length;
      }
    }
  }
  return count;
}

/** The number of states of sessions that were replaced by one of another visitor. */
function changedVisitors(sessions: readonly StoredRow[]): number {
  const visitors = new Map<unknown, Set<unknown>>();
  for (const { values } of sessions) {
    const key = `${values.projectId} ${values.id}`;
    visitors.set(key, (visitors.get(key) ?? new Set()).add(values.profileId));
  }
  return [...visitors.values()].filter(({ size }) => size > 1).length;
}
