import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { lateHoursOf } from '../fold/batch.ts';
import { finalizedBeforeMs } from '../fold/finalized.ts';
import { textOf } from '../fold/interned.ts';
import { SAME_TIME } from '../rows.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { readRows } from '../testing/stored-rows.ts';

const START_MS = Date.UTC(2026, 0, 10, 12);
const VISIT_STEP_MS = 25 * 60_000;

const arrival = fc.record({
  site: fc.constantFrom('shop', 'größe'),
  device: fc.constantFrom('a', 'b', 'c', ''),
  /** Continues the visit of the event before, which may reach into the next hour. */
  goesOn: fc.boolean(),
  laterMinutes: fc.integer({ min: 0, max: 150 }),
  ageMinutes: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 900 })),
  isFlushed: fc.boolean(),
});

// A flush notes the hours of its rows. It also notes every hour of a session whose entry a late event replaces, because filters on
// the entry apply to all events of the session.

test('a flush notes every hour that it changes and that was finalized when it began, and no other', () => {
  let late = 0;
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 1, maxLength: 40 }), (arrivals) => {
      const run = new FoldRun();
      const clocks: number[] = [];
      const flush = () => {
        for (const projectId of ['shop', 'größe']) expectHotHours(run, projectId);
        run.flush();
        clocks.push(run.state.clockMs);
      };
      let receivedAtMs = START_MS;
      let event = plainEvent({ occurredAtMs: START_MS, sessionId: '' });
      arrivals.forEach(({ site, device, goesOn, laterMinutes, ageMinutes, isFlushed }, index) => {
        receivedAtMs += laterMinutes * 60_000;
        const sessionId = device === '' ? '' : `${index + 1}`.padStart(32, '0');
        event = goesOn
          ? {
              ...event,
              occurredAtMs: Math.min(receivedAtMs, event.occurredAtMs + VISIT_STEP_MS),
              receivedAtMs,
            }
          : plainEvent({
              projectId: storedId(site),
              deviceId: device.repeat(32),
              sessionId,
              occurredAtMs: receivedAtMs - ageMinutes * 60_000,
              receivedAtMs,
            });
        run.take(messageOf([event], index + 1));
        if (isFlushed) flush();
      });
      flush();
      run.batches.forEach((batch, place) => {
        const { flushNumber } = batch;
        const finalizedMs = finalizedBeforeMs(clocks[place - 1] ?? 0);
        const changed = new Set<string>();
        const written = [...run.events, ...run.sessions].filter(
          ({ values }) => values.flushNumber === flushNumber && values.projectId !== '',
        );
        for (const { values } of written) {
          const atMs = Number(values.createdAt ?? values.startedAt);
          if (atMs < finalizedMs) changed.add(`${values.projectId} ${Math.floor(atMs / HOUR_MS)}`);
        }
        const found = [...batch.hours.keys()].flatMap((site) => {
          const projectId = Buffer.from(textOf(run.state.sites, site), 'latin1').toString();
          return lateHoursOf(batch, site).map((hourMs) => `${projectId} ${hourMs / HOUR_MS}`);
        });
        const reached = hoursOfNewEntries(written).filter(({ hourMs }) => hourMs < finalizedMs);
        expectBetween(
          found,
          changed,
          new Set(reached.map((hour) => `${hour.projectId} ${hour.hourMs / HOUR_MS}`)),
        );
        late += changed.size;
      });
    }),
    { numRuns: 150 },
  );
  expect(late).toBeGreaterThan(40);
});

/** Hot rows come with the hours that they lie in. */
function expectHotHours(run: FoldRun, projectId: string): void {
  const { head, events, sessions } = run.ask({ kind: 'rows', projectId: storedId(projectId) });
  const rows = [...readRows('events', events), ...readRows('sessions', sessions)];
  const times = rows.map(({ values }) => Number(values.createdAt ?? values.startedAt));
  const expected = new Set(times.map((atMs) => Math.floor(atMs / HOUR_MS) * HOUR_MS));
  expect(head).toMatchObject({ kind: 'rows', hours: expect.any(Array) });
  const reached = new Set(hoursOfNewEntries(rows).map(({ hourMs }) => hourMs));
  if (head.kind === 'rows') expectBetween(head.hours, expected, reached);
}

interface WrittenRow {
  readonly values: Readonly<Record<string, unknown>>;
}

/** Every hour of the sessions that the rows give another entry than the store has. */
function hoursOfNewEntries(rows: readonly WrittenRow[]) {
  return rows.flatMap(({ values: now }) => {
    if (now.sign !== 1) return [];
    const before = rows.find(({ values }) => values.sign === -1 && values.id === now.id)?.values;
    if (before === undefined || entryMs(before) === entryMs(now)) return [];
    const hours: { readonly projectId: unknown; readonly hourMs: number }[] = [];
    const firstMs = Math.floor(Number(now.startedAt) / HOUR_MS) * HOUR_MS;
    for (let hourMs = firstMs; hourMs <= Number(now.endedAt); hourMs += HOUR_MS)
      hours.push({ projectId: now.projectId, hourMs });
    return hours;
  });
}

/** The time of a session's entry, which a row leaves out if it is the same as the beginning. */
function entryMs({ entryAt, startedAt }: WrittenRow['values']): number {
  return Number(entryAt) === SAME_TIME ? Number(startedAt) : Number(entryAt);
}

/** All of `least` is found, each once, and nothing that is in neither. */
function expectBetween<T>(found: readonly T[], least: ReadonlySet<T>, most: ReadonlySet<T>): void {
  expect(new Set(found).size).toBe(found.length);
  expect([...least].filter((hour) => !found.includes(hour))).toEqual([]);
  expect(found.filter((hour) => !least.has(hour) && !most.has(hour))).toEqual([]);
}
