import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { PROFILE_GROUPS_MAX } from '../../ingest/entity-size.ts';
import { referenceProfile } from '../entities/testing/profile-reference.ts';
import {
  assign,
  device,
  FIRST_MS,
  fromDevices,
  identify,
  profileUpdates,
  step,
} from '../entities/testing/updates.ts';
import { UPDATE_IDS_MAX } from './head.ts';
import { applyProfile, type ProfileDocument, type ProfileUpdate } from './profile.ts';

/** Applies updates one after the other, each as a message of its own. */
function run(updates: readonly ProfileUpdate[]) {
  let document: ProfileDocument | undefined;
  const outcomes: string[] = [];
  for (const [index, update] of updates.entries()) {
    const result = applyProfile(document, update, BigInt(index + 1));
    outcomes.push(result.outcome);
    if (result.changed) expect(result.document.version).toBe(BigInt(index + 1));
    else expect(result.document).toBe(document);
    document = result.document;
  }
  return { document, outcomes };
}

test('the first update makes the profile', () => {
  const { document } = run([identify({ firstName: 'Ada', properties: ['plan', 'pro'], updateId: 'u' })]);
  expect(document).toEqual({
    kind: 'profile',
    projectId: storedId('demo'),
    id: 'one',
    version: 1n,
    updateIds: ['u'],
    createdAtMs: FIRST_MS,
    updatedAtMs: FIRST_MS,
    firstName: 'Ada',
    lastName: '',
    email: '',
    avatar: '',
    properties: ['plan', 'pro'],
    groups: [],
    devices: [],
  });
});

test('given fields replace, absent fields stay', () => {
  const { document } = run([
    identify({ firstName: 'Ada', lastName: 'Byron', email: 'ada@example.org', avatar: 'a.png' }),
    identify({ lastName: 'Lovelace', email: '', atMs: FIRST_MS + 5 }),
  ]);
  expect(document).toMatchObject({
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: '',
    avatar: 'a.png',
    createdAtMs: FIRST_MS,
    updatedAtMs: FIRST_MS + 5,
  });
});

test('an update from a slower clock does not make a profile older', () => {
  const { document } = run([step(), step({ atMs: FIRST_MS - 5 })]);
  expect(document).toMatchObject({ createdAtMs: FIRST_MS, updatedAtMs: FIRST_MS, properties: ['n', '2'] });
});

test('groups are a union in the order of the first assignment', () => {
  const { document } = run([assign(['b', 'a', 'b']), assign(['c', 'a'])]);
  expect(document?.groups).toEqual(['b', 'a', 'c']);
});

test('a profile joins no more groups than its cap', () => {
  const many = Array.from({ length: PROFILE_GROUPS_MAX - 1 }, (_, index) => `g${index}`);
  const { document, outcomes } = run([
    assign(many),
    assign(['x', 'y', 'g0']),
    assign(['g0', 'x']),
    assign(['y']),
  ]);
  expect(document?.groups).toEqual([...many, 'x']);
  expect(outcomes).toEqual(['applied', 'over-cap', 'applied', 'over-cap']);
});

describe('an update without an id that says nothing new', () => {
  const known = [identify({ email: 'a@b', properties: ['p', '1'] }), assign(['g'])];
  test.each([
    ['an identify', identify({ email: 'a@b', properties: ['p', '1'] }), 'applied'],
    ['an empty identify', identify(), 'applied'],
    ['an assignment', assign(['g']), 'applied'],
    ['a step of what is no number', step({ property: 'p.q' }), 'not-a-number'],
  ])('changes nothing: %s', (_name, update, outcome) => {
    const before = run(known).document;
    const result = applyProfile(before, { ...update, atMs: FIRST_MS + 9 }, 9n);
    expect(result).toEqual({ changed: false, document: before, outcome });
    expect(result.document).toBe(before);
  });
});

test('an update with an id is remembered, so that its repeat does not undo later ones', () => {
  const { document, outcomes } = run([
    identify({ email: 'old' }),
    identify({ email: 'old', updateId: 'u' }),
    identify({ email: 'new' }),
    identify({ email: 'old', updateId: 'u' }),
  ]);
  expect(document?.email).toBe('new');
  expect(outcomes).toEqual(['applied', 'applied', 'applied', 'repeat']);
});

test('a step that leads to no number makes no profile', () => {
  const { document, outcomes } = run([step({ step: '9'.repeat(65), updateId: 'u' })]);
  expect(document).toBeUndefined();
  expect(outcomes).toEqual(['not-a-number']);
});

test('an id is known among the last 64', () => {
  const ids = Array.from({ length: UPDATE_IDS_MAX + 1 }, (_, index) => `u${index}`);
  const { document, outcomes } = run([...ids, 'u1', 'u0'].map((updateId) => step({ updateId })));
  expect(document?.updateIds).toHaveLength(UPDATE_IDS_MAX);
  expect(document?.updateIds.slice(0, 1)).toEqual(['u2']);
  expect(document?.updateIds.slice(-2)).toEqual(['u64', 'u0']);
  expect(outcomes.slice(-2)).toEqual(['repeat', 'applied']);
  expect(document?.properties).toEqual(['n', '66']);
});

test.each([
  ['1', '1000'],
  ['0.1', '100'],
  ['-0.001', '-1'],
])('a thousand steps of %s are exactly %s', (each, sum) => {
  const { document } = run(Array.from({ length: 1000 }, () => step({ property: 'deep.count', step: each })));
  expect(document?.properties).toEqual(['deep.count', sum]);
});

describe('a profile belongs to devices', () => {
  const made = identify({ email: 'ada@example.org', ...fromDevices('phone') });
  const intruder = fromDevices('stranger', 'stranger yesterday');

  test.each([
    ['identify', identify({ email: 'eve@example.org', ...intruder })],
    ['increment', step({ ...intruder })],
    ['assign_group', assign(['g'], intruder)],
    ['an update with an id', step({ updateId: 'u', ...intruder })],
  ])('%s from another device without a secret changes nothing', (_name, update) => {
    const { document, outcomes } = run([made, update]);
    expect(outcomes).toEqual(['applied', 'foreign-device']);
    expect(document).toMatchObject({
      email: 'ada@example.org',
      properties: [],
      groups: [],
      devices: ['phone'],
    });
    expect(document?.version).toBe(1n);
  });

  test('the device that made it changes it, and follows it from day to day', () => {
    const { document, outcomes } = run([
      made,
      step(fromDevices('phone', '')),
      assign(['g'], fromDevices('phone 2', 'phone')),
      identify({ email: 'new', ...fromDevices('phone 3', 'phone 2') }),
      identify({ email: 'late', ...fromDevices('phone 9', 'phone 8') }),
    ]);
    expect(outcomes).toEqual(['applied', 'applied', 'applied', 'applied', 'foreign-device']);
    expect(document).toMatchObject({ email: 'new', groups: ['g'], devices: ['phone', 'phone 2', 'phone 3'] });
  });

  test('a sender with a secret changes it and names further devices, also without saying anything else', () => {
    const { document, outcomes } = run([
      identify({ email: 'ada@example.org' }),
      step(fromDevices('laptop')),
      device('phone', { atMs: FIRST_MS + 9 }),
      identify({ lastName: 'Lovelace', authority: { kind: 'secret', devices: ['laptop'] } }),
      step(fromDevices('laptop')),
      step(fromDevices('phone')),
    ]);
    expect(outcomes.map((outcome) => outcome === 'applied')).toEqual([true, false, true, true, true, true]);
    expect(document).toMatchObject({ devices: ['phone', 'laptop'], properties: ['n', '2'] });
    expect(document?.updatedAtMs).toBe(FIRST_MS);
  });

  test('a site that lets browsers change any profile makes no device its owner by that', () => {
    const { document, outcomes } = run([
      made,
      identify({ email: 'eve@example.org', authority: { kind: 'site', devices: ['stranger'] } }),
      identify({ email: 'later', ...intruder }),
    ]);
    expect(outcomes).toEqual(['applied', 'applied', 'foreign-device']);
    expect(document).toMatchObject({ email: 'eve@example.org', devices: ['phone'] });
  });

  test("a device's own id is its profile, and naming a device makes no profile", () => {
    const { document, outcomes } = run([device('other'), assign(['g'], { id: 'one', ...fromDevices('x') })]);
    expect(outcomes).toEqual(['applied', 'applied']);
    expect(run([made, assign(['h'], { ...fromDevices('new', 'one') })]).document?.groups).toEqual(['h']);
    expect(document?.devices).toEqual(['x']);
  });

  test('the 20 newest devices are remembered', () => {
    const { document } = run([made, ...Array.from({ length: 25 }, (_, index) => device(`d${index}`))]);
    expect(document?.devices).toEqual(Array.from({ length: 20 }, (_, index) => `d${index + 5}`));
  });
});

/** Brings a profile close to its caps of properties and groups. */
const FILLING: readonly ProfileUpdate[] = [
  identify({ properties: Array.from({ length: 508 }, (_, index) => [`key${index}`, '1']).flat() }),
  assign(Array.from({ length: 998 }, (_, index) => `g${index}`)),
];

test.each([
  ['from nothing', []],
  ['close to its caps', FILLING],
])('a profile is what the reference says, whatever happens, %s', (_name, filling) => {
  fc.assert(
    fc.property(fc.array(profileUpdates, { maxLength: 40 }), (all) => {
      const updates = [
        ...filling,
        ...all.map((update) => ({ ...update, projectId: storedId('demo'), id: 'one' })),
      ];
      const { document, outcomes } = run(updates);
      const expected = referenceProfile(updates);
      expect(outcomes).toEqual(expected.outcomes);
      expect(document && contentOf(document)).toEqual(expected.profile);
    }),
    { numRuns: filling.length === 0 ? 300 : 30 },
  );
});

/** A profile in the shape of the reference's. */
function contentOf(profile: ProfileDocument) {
  const { firstName, lastName, email, avatar, properties, groups, updateIds } = profile;
  const { devices, createdAtMs, updatedAtMs } = profile;
  return {
    texts: { firstName, lastName, email, avatar },
    properties: Array.from({ length: properties.length / 2 }, (_, index) => [
      (properties[index * 2] ?? '').split('.'),
      properties[index * 2 + 1],
    ]),
    groups,
    ids: updateIds,
    devices,
    createdAtMs,
    updatedAtMs,
  };
}

test('properties stay a tree, within their cap, whatever happens', () => {
  fc.assert(
    fc.property(fc.array(profileUpdates, { maxLength: 30 }), (all) => {
      const { document } = run(all.map((update) => ({ ...update, projectId: storedId('demo'), id: 'one' })));
      const keys = (document?.properties ?? []).filter((_, index) => index % 2 === 0);
      expect(keys.length).toBeLessThanOrEqual(512);
      expect(new Set(keys).size).toBe(keys.length);
      const above = new Set(keys.flatMap(keysAbove));
      expect(keys.filter((key) => above.has(key))).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

function keysAbove(key: string): string[] {
  const names = key.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}
