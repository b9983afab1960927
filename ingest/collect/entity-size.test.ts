import { describe, expect, test } from 'vitest';
import type { GroupEntity, ProfileEntity } from '../entity-lookup.ts';
import {
  ENTITY_PROPERTIES_MAX,
  ENTITY_TEXT_MAX_BYTES,
  isLargeAddition,
  PROFILE_GROUPS_MAX,
  roomProblem,
} from '../entity-size.ts';

const TIMES = { createdAtMs: 0, updatedAtMs: 0 };
const NOBODY = { firstName: '', lastName: '', email: '', avatar: '' };
const LONG = 'é'.repeat(2_000);

function profile(properties: readonly string[], groups: readonly string[] = []): ProfileEntity {
  return { kind: 'profile', id: 'ada', ...NOBODY, properties, groups, ...TIMES };
}

function group(properties: readonly string[]): GroupEntity {
  return { kind: 'group', id: 'acme', type: 'company', name: 'Acme', properties, ...TIMES };
}

const listOf = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => [`k${index}`, value]).flat();
const FULL = listOf(16, LONG);

describe('an entity', () => {
  test.each([profile(FULL), group(FULL)])('of full size takes no further property: $kind', (known) => {
    expect(roomProblem(known, { properties: ['new', LONG] })).toMatch(
      /^payload\.properties: the (profile|group) would/,
    );
    expect(roomProblem(known, { properties: ['k0', 'short'] })).toBeUndefined();
    // It takes the place of what lies below it.
    expect(roomProblem(known, { properties: ['k0.deep', LONG] })).toBeUndefined();
  });

  test('has a maximum of properties', () => {
    const known = profile(listOf(ENTITY_PROPERTIES_MAX, ''));
    expect(roomProblem(known, { properties: ['new', ''] })).toMatch(/^payload\.properties: /);
    expect(roomProblem(known, { properties: ['k0', '1'] })).toBeUndefined();
  });

  test('that is larger may become smaller', () => {
    const known = profile(listOf(100, LONG));
    expect(roomProblem(known, { properties: ['k0', 'short'] })).toBeUndefined();
    expect(roomProblem(known, { properties: ['new', '1'] })).toMatch(/^payload\.properties: /);
  });

  test('has a maximum of groups and of their bytes', () => {
    const many = Array.from({ length: PROFILE_GROUPS_MAX }, (_, index) => `g${index}`);
    expect(roomProblem(profile([], many), { groupIds: ['g0'] })).toBeUndefined();
    expect(roomProblem(profile([], many), { groupIds: ['new'] })).toMatch(/^payload\.groupIds: /);
    const long = Array.from({ length: 256 }, (_, index) => `${index}`.padEnd(250, 'g'));
    expect(roomProblem(profile([], long), { groupIds: [`${'n'.repeat(2_000)}`] })).toMatch(
      /^payload\.groupIds: /,
    );
  });
});

test('an owner is asked about large updates and not about usual ones', () => {
  expect(isLargeAddition({ properties: listOf(20, 'a usual value of a property') })).toBe(false);
  expect(isLargeAddition({ properties: ['text', 'a'.repeat(ENTITY_TEXT_MAX_BYTES / 8)] })).toBe(true);
  expect(isLargeAddition({ groupIds: ['g'] })).toBe(false);
});
