import { describe, expect, test } from 'vitest';
import { encodeJson, Mirror } from '../../infra/bus/mirror.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { metricsQuery } from '../api.ts';
import { readFilters } from '../filters/filter.ts';
import { readParameters } from '../http/parameters.ts';
import { type GoalRecord, goalSchema, type SegmentRecord, segmentSchema } from './definition-records.ts';
import {
  type DatedReference,
  goalNamed,
  goalOf,
  MirroredDefinitions,
  referencesIn,
  withSegments,
} from './definitions.ts';

const AT = '2026-03-01T00:00:00.000Z';
const GERMANY = { name: 'country', operator: 'is' as const, value: ['DE'] };
const BUY = { name: 'path', operator: 'is' as const, value: ['/buy'] };
const NONE = { segments: [], goals: [], references: [] };

const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

function segment(digit: number, given: Partial<SegmentRecord>): SegmentRecord {
  const made = {
    id: idOf(digit),
    projectId: 'site',
    storedId: storedId('site'),
    createdAt: AT,
    updatedAt: AT,
  };
  return { ...made, name: `s${digit}`, filters: [GERMANY], ...given };
}

function goal(digit: number, given: Partial<GoalRecord>): GoalRecord {
  const { filters: _, ...made } = segment(digit, {});
  return { ...made, type: 'event', event: 'a', path: null, filters: [], value: null, ...given };
}

function withDefined(query: string, segments: readonly SegmentRecord[]) {
  return withSegments(readParameters(query, metricsQuery), { ...NONE, segments });
}

const filtersOf = (...filters: object[]) => readFilters(JSON.stringify(filters));

describe('segments of a question', () => {
  test('add their filters to its own', () => {
    const segments = [segment(1, { name: 'Germany' }), segment(2, { filters: [BUY, BUY] })];
    const text = `filters=${JSON.stringify([BUY])}&segment=Germany&segment=${idOf(2)}`;
    expect(withDefined(text, segments).filters).toEqual(filtersOf(BUY, GERMANY, BUY, BUY));
    expect(withDefined('segment=["Germany","s2"]', segments).filters).toEqual(filtersOf(GERMANY, BUY, BUY));
    expect(withDefined('', segments)).toEqual(readParameters('', metricsQuery));
  });

  test('are found by id before name, and of one name the oldest', () => {
    const later = '2026-03-02T00:00:00.000Z';
    const segments = [
      segment(1, { name: 'same', createdAt: later, filters: [BUY] }),
      segment(2, { name: 'same' }),
      segment(3, { name: idOf(1) }),
    ];
    expect(withDefined('segment=same', segments).filters).toEqual(filtersOf(GERMANY));
    expect(withDefined(`segment=${idOf(1)}`, segments).filters).toEqual(filtersOf(BUY));
    expect(() => withDefined('segment=Same', segments)).toThrow('segment: no such segment: "Same"');
    expect(() => withSegments(readParameters('segment=s1', metricsQuery))).toThrow(/^segment: /);
  });

  test('leave parameters of questions without filters as they are', () => {
    for (const parameters of [{}, { limit: 1 }, undefined, 'text'])
      expect(withSegments(parameters, { ...NONE, segments: [segment(1, {})] })).toBe(parameters);
  });
});

describe('a goal', () => {
  const matching = (path: string) =>
    goalOf(goal(1, { type: 'page', event: null, path })).filters.find(({ field }) =>
      JSON.stringify(field).includes('"path"'),
    );
  const VIEW = { name: 'name', operator: 'is', value: ['screen_view'] };

  test('of an event is its name and its filters', () => {
    const { filters } = goalOf(goal(1, { event: 'sign up', filters: [GERMANY] }));
    expect(filters).toEqual(filtersOf({ name: 'name', operator: 'is', value: ['sign up'] }, GERMANY));
  });

  test('of a page is a screen view of the path, and its filters', () => {
    const { filters } = goalOf(goal(1, { type: 'page', event: null, path: '/buy', filters: [GERMANY] }));
    expect(filters).toEqual(filtersOf(VIEW, BUY, GERMANY));
  });

  test.each([
    ['/shop/*', 'startsWith', '/shop/'],
    ['/shop/**', 'startsWith', '/shop/'],
    ['*', 'regex', '^'],
    ['*/thanks', 'regex', '^.*/thanks$'],
    ['/a*b**c', 'regex', '^/a.*b.*c$'],
    ['/a.b*(c)[d]{e}+?|^$\\x', 'regex', '^/a\\.b.*\\(c\\)\\[d\\]\\{e\\}\\+\\?\\|\\^\\$\\\\x$'],
  ])('of the pages %s is a test of the whole path', (path, operator, value) => {
    expect(matching(path)).toEqual(filtersOf({ name: 'path', operator, value: [value] })[0]);
  });

  test('has a pattern that a regular expression can hold, whatever its characters', () => {
    for (const path of ['.'.repeat(200), `*${'.'.repeat(199)}`, '*.'.repeat(100)])
      expect(() => goalOf(goal(1, { type: 'page', event: null, path }))).not.toThrow();
  });

  test('counts towards the limits of the filters of a question', () => {
    const goals = [goal(1, { name: 'Buy' })];
    const filters = (count: number) => filtersOf(...Array.from({ length: count }, () => BUY));
    expect(goalNamed('Buy', filters(49), { ...NONE, goals })?.record).toBe(goals[0]);
    expect(() => goalNamed('Buy', filters(50), { ...NONE, goals })).toThrow(/^filters: expected at most 50/);
    expect(() => goalNamed('buy', [], { ...NONE, goals })).toThrow('goal: no such goal: "buy"');
    expect(goalNamed(undefined, [], { ...NONE, goals })).toBeUndefined();
  });
});

test('references of a span are those from its beginning to before its end, oldest first, the newest beyond a maximum', () => {
  const reference = (id: string, date: string): DatedReference => ({ id, title: id, description: '', date });
  const references = [
    reference('end', '2026-03-03T00:00:00.000Z'),
    reference('late', '2026-03-02T23:59:59.999Z'),
    reference('b', AT),
    reference('a', AT),
    reference('before', '2026-02-28T23:59:59.999Z'),
  ];
  const span = { fromMs: Date.parse(AT), toMs: Date.parse('2026-03-03') };
  const ids = (max: number) => referencesIn(span, max, { ...NONE, references }).map(({ id }) => id);
  expect(ids(10)).toEqual(['a', 'b', 'late']);
  expect(ids(2)).toEqual(['b', 'late']);
  expect(referencesIn(span, 10)).toEqual([]);
});

test('definitions follow their mirrors, for each site those of its own', () => {
  const segments = new Mirror<SegmentRecord>('segment.', segmentSchema);
  const goals = new Mirror<GoalRecord>('goal.', goalSchema);
  const none = new Mirror<never>('reference.', segmentSchema as never);
  let revision = 0;
  const put = (mirror: { readonly take: Mirror<unknown>['take'] }, key: string, value: unknown) => {
    revision += 1;
    mirror.take({ key, bytes: value === undefined ? undefined : encodeJson(value), revision });
  };
  put(segments, 'segment.1', segment(1, {}));
  const definitions = new MirroredDefinitions({ segments, goals, references: none });
  put(segments, 'segment.2', segment(2, { storedId: storedId('other') }));
  put(goals, 'goal.3', goal(3, {}));
  put(segments, 'segment.1', segment(1, { name: 'Renamed' }));
  expect(definitions.of(storedId('site')).segments.map(({ name }) => name)).toEqual(['Renamed']);
  expect(definitions.of(storedId('other')).segments.map(({ id }) => id)).toEqual([idOf(2)]);
  expect(definitions.of(storedId('site')).goals).toEqual([goal(3, {})]);
  expect(definitions.of(storedId('other')).goals).toEqual([]);
  put(segments, 'segment.1', undefined);
  put(goals, 'goal.3', undefined);
  expect(definitions.of(storedId('site'))).toEqual(NONE);
});
