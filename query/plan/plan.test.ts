import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { readFilters } from '../filters/filter.ts';
import type { FinalizedBlocks } from '../rollups/rollup-spans.ts';
import { bucketsOf } from '../time/buckets.ts';
import type { Range } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { Otherwise } from '../ways.ts';
import {
  type CacheableMetrics,
  type MetricsPlan,
  NO_HOURS,
  planActiveUsers,
  planLookup,
  planMetrics,
  planRanked,
  type RankedQuestion,
} from './plan.ts';

const DAY_START_MS = Date.parse('2026-03-02T00:00:00Z');
const FILTERS = readFilters('[{"name":"country","operator":"is","value":["DE"]}]');
const EVENT_FILTERS = readFilters('[{"name":"path","operator":"is","value":["/"]}]');

const span = { fromMs: DAY_START_MS, toMs: DAY_START_MS + DAY_MS };
const previous = { fromMs: DAY_START_MS - DAY_MS, toMs: DAY_START_MS };

function dayByHours(): Range {
  const buckets = bucketsOf(span, 'hour', new Zones().of('UTC')) ?? [];
  return { name: 'today', span, previous, interval: 'hour', buckets };
}

const NO_BLOCKS = new Otherwise('filters');

function taken<Plan>(plan: Plan | Otherwise): Plan {
  if (plan instanceof Otherwise) throw new Error(plan.why);
  return plan;
}

function cacheableOf(plan: MetricsPlan): CacheableMetrics {
  const parts = taken(plan.parts);
  if (parts.kind !== 'finalized') throw new Error(parts.kind);
  return parts;
}

const question = { projectId: storedId('shop'), filters: [], range: dayByHours() };

/** Finalizes the hours and days of these times, each in block 7. */
function finalized({ hoursMs = [], daysMs = [] }: Record<string, readonly number[]>): FinalizedBlocks {
  const blocks = (times: readonly number[]) => new Map(times.map((ms) => [ms / 1000, 7]));
  return { hours: blocks(hoursMs), days: blocks(daysMs), isEmpty: () => false };
}

function hours(fromMs: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, hour) => fromMs + hour * HOUR_MS);
}

test('the lookup covers every hour that the spans touch', () => {
  const late = { fromMs: span.fromMs + 1, toMs: span.toMs + 1 };
  expect(planLookup(question, [previous, late])).toEqual({
    name: 'rollup-spans',
    parameters: {
      site: storedId('shop'),
      first: previous.fromMs / 1000,
      last: span.toMs / 1000,
      hoursFrom: previous.fromMs / 1000,
    },
  });
});

test('a lookup leaves out the hours that the question does not use', () => {
  const hoursFrom = (ms: number) => taken(planLookup(question, [span], ms)).parameters.hoursFrom;
  expect(hoursFrom(span.fromMs + 90 * 60_000)).toBe(span.fromMs / 1000 + 3600);
  expect(hoursFrom(-1)).toBe(span.fromMs / 1000);
  expect(hoursFrom(NO_HOURS)).toBeGreaterThan(span.toMs / 1000);
});

test.each([
  ['filters', 'a filter', { ...question, filters: FILTERS }, span],
  ['out-of-reach', 'a span of more than five years', question, { fromMs: 0, toMs: 45_001 * HOUR_MS }],
  ['out-of-reach', 'a time before 1970', question, { fromMs: -1, toMs: DAY_MS }],
  [
    'out-of-reach',
    'a time beyond the hours of rollups',
    question,
    { fromMs: 4_294_000_000_000, toMs: 4_294_000_000_001 },
  ],
  ['out-of-reach', 'an empty span', question, { fromMs: 0, toMs: 0 }],
] as const)('%s: with %s nothing is looked up', (why, _name, site, only) => {
  expect(planLookup(site, [only])).toEqual(new Otherwise(why));
});

test('metrics read rows alone when nothing is finalized', () => {
  for (const blocks of [NO_BLOCKS, finalized({})]) {
    const plan = planMetrics(question, blocks);
    expect([plan.events.name, plan.sessions?.name]).toEqual(['metrics-events', 'metrics-sessions']);
    const why = blocks instanceof Otherwise ? blocks.why : 'nothing-finalized';
    expect(plan.parts).toEqual(new Otherwise(why));
  }
  const filtered = planMetrics({ ...question, filters: FILTERS }, NO_BLOCKS);
  expect([filtered.events.name, filtered.sessions]).toEqual(['metrics-filtered', undefined]);
  expect(filtered.events.texts?.passing).toContain('country');
  const both = planMetrics({ ...question, filters: [...FILTERS, ...EVENT_FILTERS] }, NO_BLOCKS);
  expect([both.events.name, both.sessions?.name]).toEqual(['metrics-events', 'metrics-sessions']);
  expect(both.events.texts?.events).toContain('sessionId IN');
  expect(both.sessions?.texts?.sessions).toContain('country');
});

test('metrics read finalized hours from rollups and the others from rows', () => {
  const plan = planMetrics(question, finalized({ hoursMs: hours(span.fromMs, 10) }));
  expect([plan.events.name, plan.sessions?.name]).toEqual(['metrics-events-rollup', 'metrics-sessions-rows']);
  const { hourKeys, dayKeys, rowHours, firstHour, lastHour } = plan.events.parameters;
  expect(hourKeys).toHaveLength(10);
  expect(dayKeys).toEqual([]);
  expect(rowHours).toEqual(
    [...hours(previous.fromMs, 24), ...hours(span.fromMs + 10 * HOUR_MS, 14)].map((ms) => ms / 1000),
  );
  expect([firstHour, lastHour]).toEqual([span.fromMs / 1000, span.fromMs / 1000 + 9 * 3600]);
  expect(plan.parts).toEqual(new Otherwise('not-finalized'));
});

test('a finalized previous span is cacheable, and its statements leave it out', () => {
  const plan = planMetrics(question, finalized({ hoursMs: hours(previous.fromMs, 34) }));
  const { rollups, events, sessions } = cacheableOf(plan);
  expect(rollups.name).toBe('metrics-finalized');
  expect([events.name, sessions.name]).toEqual(['metrics-events-rows', 'metrics-sessions-rows']);
  for (const statement of [rollups, events, sessions]) {
    expect(statement.parameters).toMatchObject({
      previousFrom: previous.fromMs,
      previousTo: previous.fromMs,
      firstHour: span.fromMs / 1000,
    });
    expect(statement.parameters.hourKeys).toHaveLength(10);
  }
  // From the tenth hour on, rows can add visitors to the buckets.
  expect(rollups.parameters.openEdges).toEqual(hours(span.fromMs + 10 * HOUR_MS, 14));
});

test('a cache key names the site first, and changes with a block and with the buckets', () => {
  const keysOf = (range: Range, block: number) => {
    const times = hours(previous.fromMs, 34).map((ms): [number, number] => [ms / 1000, 7]);
    const last = times.at(-1)?.[0] ?? 0;
    const blocks = { ...finalized({}), hours: new Map([...times, [last, block]]) };
    const { previousKey, rollupsKey } = cacheableOf(planMetrics({ ...question, range }, blocks));
    return [previousKey, rollupsKey] as const;
  };
  const [previousKey, rollupsKey] = keysOf(dayByHours(), 7);
  // `SiteMemory` evicts by this prefix.
  for (const key of [previousKey, rollupsKey]) expect(key).toMatch(/^shop /);
  const [samePrevious, otherBlock] = keysOf(dayByHours(), 8);
  expect(samePrevious).toBe(previousKey);
  expect(otherBlock).not.toBe(rollupsKey);
  const byDay = { ...dayByHours(), buckets: [{ fromMs: span.fromMs, label: '' }] };
  expect(keysOf(byDay, 7)[1]).not.toBe(rollupsKey);
});

const ranked: RankedQuestion<'pages'> = {
  projectId: storedId('shop'),
  filters: [],
  statement: 'pages',
  columns: 'origin',
  span,
  page: { currency: 'EUR', limit: 10, offset: 0 },
  hours: { fromMs: span.fromMs, recentFromMs: Number.POSITIVE_INFINITY },
};

const withHours = (fromMs: number, recentFromMs = Number.POSITIVE_INFINITY) => ({
  ...ranked,
  hours: { fromMs, recentFromMs },
});

test('ranked rows prefer the rollup of a day to those of its hours', () => {
  const blocks = finalized({ hoursMs: hours(span.fromMs, 24), daysMs: [span.fromMs] });
  const part = taken(planRanked(ranked, blocks).finalized);
  expect(part.parameters).toMatchObject({ hourKeys: [], rowHours: [] });
  expect(part.parameters.dayKeys).toHaveLength(1);
});

test('ranked rows use rollups of hours only from a time on', () => {
  const blocks = finalized({ hoursMs: hours(span.fromMs, 24) });
  const later = planRanked(withHours(span.fromMs + 20 * HOUR_MS), blocks);
  expect(taken(later.finalized).parameters.hourKeys).toHaveLength(4);
  const never = planRanked(withHours(Number.POSITIVE_INFINITY), blocks);
  expect(never.finalized).toEqual(new Otherwise('nothing-finalized'));
  expect(never.rows).toMatchObject({ name: 'pages', texts: { columns: 'origin' } });
});

test('finalized hours since the last day that is rolled up are told apart, with what identifies them', () => {
  const days = { fromMs: span.fromMs, toMs: span.fromMs + 2 * DAY_MS - HOUR_MS / 2 };
  const nextMs = span.fromMs + DAY_MS;
  const blocks = finalized({ hoursMs: hours(span.fromMs, 47), daysMs: [span.fromMs] });
  const question = { ...withHours(Number.POSITIVE_INFINITY, nextMs + 20 * HOUR_MS), span: days };
  const { parameters, recent } = taken(planRanked(question, blocks).finalized);
  expect(parameters).toMatchObject({ hourKeys: [] });
  expect(parameters.rowHours).toHaveLength(24);
  expect(recent.hours).toEqual(hours(nextMs + 20 * HOUR_MS, 3).map((ms) => ms / 1000));
  expect(new Set(recent.keys).size).toBe(3);
});

test('active users count each day from its hours, never from a rollup of the day', () => {
  const parameters = { windowMax: 30, never: 65_535 };
  const days = { projectId: storedId('shop'), filters: [], span, edges: [span.fromMs], parameters };
  expect(planActiveUsers(days, NO_BLOCKS)).toMatchObject({ all: { name: 'active-users' }, parts: NO_BLOCKS });
  expect(planActiveUsers(days, finalized({ daysMs: [span.fromMs] })).all.name).toBe('active-users');
  const { all, parts } = planActiveUsers(days, finalized({ hoursMs: hours(span.fromMs, 24) }));
  expect(all.name).toBe('active-users-rollup');
  // `SiteMemory` evicts by this prefix.
  expect(taken(parts).key).toMatch(/^shop /);
  expect(all.parameters).toMatchObject({ site: storedId('shop'), windowMax: 30, rowHours: [] });
});
