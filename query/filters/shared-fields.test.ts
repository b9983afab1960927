import { describe, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { SESSION_FIELD_LIST } from '../../processor/fields.ts';
import type { GoalRecord, SegmentRecord } from '../definitions/definition-records.ts';
import { goalNamed, goalsShown, withSegments } from '../definitions/definitions.ts';
import { readFilters } from './filter.ts';
import { FIELD_NAMES, fieldOf } from './names.ts';
import { maySharedTest } from './shared-fields.ts';

const PROPERTIES = ['properties.plan', 'profile.properties.plan', 'group.properties.plan'];
/** Dimensions that figures of a shared link show, so its filters may test them. */
const SHOWN = [
  ...['name', 'origin', 'path', 'title', 'channel', 'referrer', 'referrerName', 'referrerType'],
  ...['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent', 'country', 'region', 'city'],
  ...['device', 'brand', 'model', 'browser', 'browserVersion', 'os', 'osVersion'],
  ...SESSION_FIELD_LIST.map(([fact]) => fact),
];
const isShown = (name: string) =>
  SHOWN.some((shown) => shown === name || fieldOf(shown) === fieldOf(name)) ||
  SHOWN.map((shown) => shown.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).includes(name);
const HIDDEN = [...FIELD_NAMES, ...PROPERTIES].filter((name) => !isShown(name));

const AT = '2026-03-01T00:00:00.000Z';
const OF_SITE = { projectId: storedId('site'), storedId: storedId('site'), createdAt: AT, updatedAt: AT };
const ID = '00000000-0000-4000-8000-000000000001';

function segment(name: string): SegmentRecord {
  return { ...OF_SITE, id: ID, name: 'meant', filters: [{ name, operator: 'isNotNull' }] };
}

function goal(name: string): GoalRecord {
  return { ...segment(name), type: 'event', event: 'a', path: null, value: null };
}

describe('a shared link', () => {
  test.each(HIDDEN)('uses no segment and no goal that tests %s', (name) => {
    const definitions = { segments: [segment(name)], goals: [goal(name)], references: [] };
    const shared = { ...definitions, isShared: true };
    const asked = { filters: [], segment: ['meant'] };
    expect(withSegments(asked, definitions).filters).toHaveLength(1);
    expect(() => withSegments(asked, shared)).toThrow(/^segment: a shared link cannot use this segment/);
    expect(() => withSegments({ filters: [], segment: [ID] }, shared)).toThrow(/^segment: /);
    expect(goalNamed('meant', [], definitions)?.filters).toHaveLength(2);
    expect(() => goalNamed('meant', [], shared)).toThrow(/^goal: a shared link cannot use this goal/);
    expect(goalsShown(definitions)).toHaveLength(1);
    expect(goalsShown(shared)).toEqual([]);
  });

  test('uses segments and goals that test what its figures show', () => {
    expect(HIDDEN.length).toBeGreaterThan(30);
    for (const name of SHOWN.filter((shown) => !['duration', 'screenViews', 'isBounce'].includes(shown))) {
      const shared = { segments: [segment(name)], goals: [goal(name)], references: [], isShared: true };
      expect(withSegments({ filters: [], segment: ['meant'] }, shared).filters).toHaveLength(1);
      expect(goalNamed('meant', [], shared)?.filters).toHaveLength(2);
      expect(goalsShown(shared)).toHaveLength(1);
    }
  });

  test('is asked about every filter, not only the first', () => {
    const filters = readFilters(
      JSON.stringify(['path', 'profile.email'].map((name) => ({ name, operator: 'isNotNull' }))),
    );
    expect(filters.map(maySharedTest)).toEqual([true, false]);
  });
});
