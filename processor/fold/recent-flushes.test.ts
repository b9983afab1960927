import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import type { RowsHead } from '../hot.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { readRows } from '../testing/stored-rows.ts';
import { RecentFlushes, SITE_BYTES_MAX, SITES_MAX, UNASKED_FLUSHES_MAX } from './recent-flushes.ts';

/** Sends one event of a site, with a property of this length. */
function send(run: FoldRun, projectId: string, characters = 1): void {
  const atMs = START_MS + run.messages.length * 1_000;
  const properties = ['k', 'v'.repeat(characters)];
  const event = plainEvent({
    projectId: storedId(projectId),
    properties,
    occurredAtMs: atMs,
    receivedAtMs: atMs,
  });
  run.take(messageOf([event], run.messages.length + 1));
}

/** The answer to a question about the site `demo`: the flushes in its head, and the flushes of its rows. */
function asked(run: FoldRun, held?: number) {
  const { head, events, sessions } = run.ask({
    kind: 'rows',
    projectId: storedId('demo'),
    held: held === undefined ? undefined : [held],
  });
  const { flushNumber, storedFlush, eventRows, sessionRows, hours } = head as RowsHead;
  const flushesOf = (kind: 'events' | 'sessions', bytes: Uint8Array) =>
    readRows(kind, Buffer.from(bytes)).map(({ values }) => Number(values.flushNumber));
  const eventFlushes = flushesOf('events', events);
  const sessionFlushes = flushesOf('sessions', sessions);
  expect([eventRows, sessionRows]).toEqual([eventFlushes.length, sessionFlushes.length]);
  return {
    flushNumber,
    storedFlush,
    hours,
    flushes: [...new Set([...eventFlushes, ...sessionFlushes])].sort(),
  };
}

describe('an asker that holds the rows of a site up to a flush', () => {
  test('gets the rows of later flushes from memory once it has asked before', () => {
    const run = new FoldRun();
    send(run, 'demo');
    run.flush();
    // Nothing is kept for a site before a question about it.
    expect(asked(run, 0)).toMatchObject({ flushNumber: 1, flushes: [] });
    send(run, 'demo');
    send(run, 'other');
    run.flush();
    send(run, 'demo');
    expect(asked(run, 1)).toMatchObject({ flushNumber: 1, storedFlush: 2, flushes: [2, 3] });
    expect(asked(run, 1).hours).toContain(Math.floor(START_MS / HOUR_MS) * HOUR_MS);
    expect(asked(run, 2)).toMatchObject({ flushNumber: 2, storedFlush: undefined, flushes: [3] });
    expect(asked(run)).toMatchObject({ flushNumber: 2, storedFlush: undefined, flushes: [3] });
    run.flush();
    expect(asked(run, 1)).toMatchObject({ flushNumber: 1, storedFlush: 3, flushes: [2, 3] });
    // Not all rows after flush 0 are here, and there is no flush 4.
    expect(asked(run, 0)).toMatchObject({ flushNumber: 3, flushes: [] });
    expect(asked(run, 4)).toMatchObject({ flushNumber: 3, flushes: [] });
  });

  test('gets nothing that was there before an erase command', () => {
    const run = new FoldRun();
    const recent = new RecentFlushes();
    recent.since(storedId('demo'), 0, 0);
    for (let flush = 1; flush <= 2; flush += 1) {
      send(run, 'demo');
      run.flush();
      recent.keep(must(run.batches.at(-1), 'a flush'), run.state);
    }
    expect(recent.since(storedId('demo'), 0, 2)?.map(({ flushNumber }) => flushNumber)).toEqual([1, 2]);
    recent.forget(3);
    expect(recent.since(storedId('demo'), 0, 2)).toBeUndefined();
    send(run, 'demo');
    run.flush();
    recent.keep(must(run.batches.at(-1), 'a flush'), run.state);
    expect(recent.since(storedId('demo'), 2, 3)).toBeUndefined();
    expect(recent.since(storedId('demo'), 3, 3)).toEqual([]);
  });

  test('gets no more bytes of a site than its limit', () => {
    const run = new FoldRun();
    asked(run, 0);
    for (let flush = 1; flush <= 3; flush += 1) {
      send(run, 'demo', SITE_BYTES_MAX / 2 - 2_000);
      run.flush();
    }
    expect(asked(run, 0)).toMatchObject({ flushNumber: 3, flushes: [] });
    expect(asked(run, 1)).toMatchObject({ flushNumber: 1, flushes: [2, 3] });
  });

  test('is forgotten when it does not ask, or when too many other sites are asked about', () => {
    const run = new FoldRun();
    asked(run, 0);
    for (let flush = 1; flush <= UNASKED_FLUSHES_MAX + 1; flush += 1) {
      send(run, 'other');
      run.flush();
    }
    expect(asked(run, UNASKED_FLUSHES_MAX)).toMatchObject({ flushNumber: UNASKED_FLUSHES_MAX + 1 });
    const recent = new RecentFlushes();
    recent.since(storedId('demo'), 1, 1);
    expect(recent.since(storedId('demo'), 1, 2)).toEqual([]);
    for (let site = 0; site < SITES_MAX; site += 1) recent.since(storedId(`site-${site}`), 1, 1);
    expect(recent.since(storedId('demo'), 1, 2)).toBeUndefined();
  });
});
