import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { eventLists, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import type { HotHead } from '../hot.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';

/** One event of each site, a second apart; the site's name is its place. */
function visit(run: FoldRun, sites: readonly number[], fromMs: number): void {
  const events = sites.map((site, index) => {
    const atMs = fromMs + index * 1_000;
    const deviceId = String(site).padStart(32, '0');
    return plainEvent({
      projectId: storedId(`site-${site}`),
      deviceId,
      sessionId: deviceId,
      occurredAtMs: atMs,
      receivedAtMs: atMs,
    });
  });
  run.take(messageOf(events, run.messages.length + 1));
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const minutesOf = (run: FoldRun, site: number, fromMs: number): HotHead =>
  run.ask({ kind: 'minutes', projectId: storedId(`site-${site}`), fromMs }).head;
const liveOf = (run: FoldRun, projectId: string, nowMs: number): number => {
  const { head } = run.ask({ kind: 'live', projectId: storedId(projectId), nowMs });
  return head.kind === 'live' ? head.visitors : Number.NaN;
};

describe('a quiet site', () => {
  test('stays while a row of it is unflushed, and leaves when nothing refers to it', () => {
    const run = new FoldRun();
    visit(run, upTo(50), START_MS);
    run.take(messageOf([], run.messages.length + 1, START_MS + 3 * HOUR_MS));
    expect(run.state.sessions.count).toBe(0);
    run.tick();
    expect([run.state.counters.size, run.state.sites.idByText.size]).toEqual([0, 50]);
    run.flush();
    run.tick();
    expect([run.state.counters.size, run.state.sites.idByText.size]).toEqual([0, 0]);
  });

  test('stays while a session of it is retained', () => {
    const run = new FoldRun({ ...TEST_LIMITS, sessionRetainMs: 5 * HOUR_MS });
    visit(run, [1], START_MS);
    run.take(messageOf([], run.messages.length + 1, START_MS + 3 * HOUR_MS));
    run.flush();
    run.tick();
    expect([run.state.counters.size, run.state.sites.idByText.size]).toEqual([0, 1]);
  });

  test('is known again with its next event, under an id that another site may have had', () => {
    const run = new FoldRun();
    visit(run, [1, 2], START_MS);
    run.take(messageOf([], run.messages.length + 1, START_MS + 3 * HOUR_MS));
    run.flush();
    run.tick();
    visit(run, [2, 1, 2], START_MS + 3 * HOUR_MS);
    expect(run.ask({ kind: 'rows', projectId: storedId('site-1') }).head).toMatchObject({ eventRows: 2 });
    expect(run.ask({ kind: 'rows', projectId: storedId('site-2') }).head).toMatchObject({ eventRows: 3 });
    expect(liveOf(run, 'site-1', START_MS + 3 * HOUR_MS)).toBe(1);
  });
});

describe('at the cap', () => {
  const limits = { ...TEST_LIMITS, sitesMax: 10 };

  test('the site that was silent longest is answered from the store, and the others from memory', () => {
    const run = new FoldRun(limits);
    visit(run, upTo(10), START_MS);
    visit(run, [0], START_MS + 10_000);
    visit(run, [10], START_MS + 120_000);
    expect(run.state.counters.size).toBe(10);
    const { evictedMinutesBeforeMs } = run.state;
    expect(evictedMinutesBeforeMs).toBeGreaterThan(START_MS);
    expect(minutesOf(run, 1, START_MS)).toEqual({ kind: 'unavailable', reason: 'not-held' });
    expect(minutesOf(run, 1, evictedMinutesBeforeMs)).toMatchObject({ kind: 'minutes', minutes: [] });
    expect(minutesOf(run, 0, START_MS - HOUR_MS)).toMatchObject({ minutes: [{ screenViews: 2 }] });
    // A site that comes after an eviction may be an evicted one.
    expect(minutesOf(run, 10, START_MS)).toEqual({ kind: 'unavailable', reason: 'not-held' });
    expect(minutesOf(run, 10, evictedMinutesBeforeMs)).toMatchObject({ minutes: [{ screenViews: 1 }] });
  });

  test('an evicted site counts its live visitors anew', () => {
    const run = new FoldRun(limits);
    visit(run, upTo(11), START_MS);
    expect(liveOf(run, 'site-0', START_MS + 20_000)).toBe(0);
    visit(run, [0, 0], START_MS + 20_000);
    expect(liveOf(run, 'site-0', START_MS + 22_000)).toBe(1);
    expect(liveOf(run, 'site-0', START_MS + 400_000)).toBe(0);
  });

  test('no number of visitors is negative, and all are gone in the end', () => {
    fc.assert(
      fc.property(eventLists({ maxLength: 40 }), fc.integer({ min: 1, max: 2 }), (events, sitesMax) => {
        const run = new FoldRun({ ...TEST_LIMITS, sitesMax });
        const sites = [...new Set(events.map(({ projectId }) => projectId))];
        events.forEach((event, index) => {
          run.take(messageOf([event], index + 1));
          if (index % 3 === 0) run.tick();
          for (const site of sites) expect(liveOf(run, site, run.state.clockMs)).toBeGreaterThanOrEqual(0);
          expect(run.state.counters.size).toBeLessThanOrEqual(sitesMax);
        });
        run.take(messageOf([], events.length + 1, run.state.clockMs + 100 * HOUR_MS));
        run.flush();
        run.tick();
        expect([run.state.minuteVisitors, run.state.counters.size, run.state.sites.idByText.size]).toEqual([
          0, 0, 0,
        ]);
      }),
      { numRuns: 200 },
    );
  });
});
