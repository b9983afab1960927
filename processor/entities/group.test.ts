import { expect, test } from 'vitest';
import { ENTITY_PROPERTIES_MAX as PROPERTIES_MAX } from '../../ingest/entity-size.ts';
import { FIRST_MS, fromDevices, group, mention } from '../entities/testing/updates.ts';
import { applyGroup, type GroupDocument } from './group.ts';

const FULL = Array.from({ length: PROPERTIES_MAX }, (_, index) => [`k${index}`, '']).flat();

function made(
  ...updates: (ReturnType<typeof group> | ReturnType<typeof mention>)[]
): GroupDocument | undefined {
  let document: GroupDocument | undefined;
  for (const update of updates) document = applyGroup(document, update, 1n).document;
  return document;
}

test('the first update makes the group', () => {
  expect(applyGroup(undefined, group({ properties: ['seats', '5'], updateId: 'u' }), 7n)).toEqual({
    changed: true,
    outcome: 'applied',
    document: {
      kind: 'group',
      projectId: 'demo',
      id: 'one',
      version: 7n,
      updateIds: ['u'],
      createdAtMs: FIRST_MS,
      updatedAtMs: FIRST_MS,
      type: 'company',
      name: 'Acme',
      properties: ['seats', '5'],
      devices: [],
    },
  });
});

test('without a secret a device makes groups, describes mentioned ones, and changes only those', () => {
  const mine = fromDevices('phone today', 'phone');
  const stranger = fromDevices('stranger');
  for (const before of [undefined, made(mention())]) {
    const described = applyGroup(
      before,
      group({ ...fromDevices('phone'), properties: ['a', '1'] }),
      2n,
    ).document;
    expect(described).toMatchObject({ name: 'Acme', properties: ['a', '1'], devices: ['phone'] });
    const foreign = applyGroup(described, group({ ...stranger, name: 'Evil', properties: ['b', '2'] }), 3n);
    expect(foreign).toEqual({ changed: false, document: described, outcome: 'foreign-device' });
    expect(applyGroup(described, group({ ...mine, name: 'Bcme' }), 3n).document).toMatchObject({
      name: 'Bcme',
      properties: ['a', '1'],
      devices: ['phone', 'phone today'],
    });
  }
  const bySecret = made(group());
  expect(applyGroup(bySecret, group({ ...stranger, name: 'Evil' }), 2n)).toMatchObject({ changed: false });
  const byLeave = applyGroup(bySecret, group({ name: 'x', authority: { kind: 'site', devices: ['y'] } }), 2n);
  expect(byLeave).toMatchObject({ changed: true, document: { name: 'x', devices: [] } });
});

test('a group that is only mentioned has its id as its name, and its own update says the rest, in either order', () => {
  const alone = made(mention(), mention({ atMs: FIRST_MS + 1 }));
  expect(alone).toMatchObject({ id: 'one', type: '', name: 'one', properties: [], updatedAtMs: FIRST_MS });
  const filled = { type: 'company', name: 'Acme', properties: ['seats', '5'] };
  const update = group({ properties: ['seats', '5'] });
  expect(made(mention(), update)).toMatchObject(filled);
  expect(made(update, mention({ atMs: FIRST_MS + 1 }))).toMatchObject({ ...filled, updatedAtMs: FIRST_MS });
  expect(applyGroup(made(update), mention(), 2n)).toMatchObject({ changed: false, outcome: 'applied' });
});

test('type and name are replaced, properties merge as a tree', () => {
  const document = made(
    group({ properties: ['seats', '5', 'plan.name', 'pro'] }),
    group({ type: 'team', name: 'Bcme', properties: ['seats', '6', 'plan', 'free'], atMs: FIRST_MS + 1 }),
  );
  expect(document).toMatchObject({
    type: 'team',
    name: 'Bcme',
    properties: ['seats', '6', 'plan', 'free'],
    createdAtMs: FIRST_MS,
    updatedAtMs: FIRST_MS + 1,
  });
});

test.each([
  ['another type', group({ type: 'team' }), true],
  ['another name', group({ name: 'Bcme' }), true],
  ['another property', group({ properties: ['a', '2'] }), true],
  ['an id to remember', group({ updateId: 'u' }), true],
  ['nothing new', group({ properties: ['a', '1'], atMs: FIRST_MS + 1 }), false],
])('an update with %s differs from one that changes nothing', (_name, update, changed) => {
  const document = made(group({ properties: ['a', '1'] }));
  const result = applyGroup(document, update, 2n);
  expect(result).toMatchObject({ changed, outcome: 'applied' });
  expect(result.document === document).toBe(!changed);
});

test('a repeat changes nothing', () => {
  const document = made(group({ updateId: 'u' }));
  expect(applyGroup(document, group({ updateId: 'u', name: 'Bcme' }), 2n)).toEqual({
    changed: false,
    document,
    outcome: 'repeat',
  });
});

test('of an update with too many properties those that fit are applied', () => {
  const result = applyGroup(
    made(group({ properties: FULL })),
    group({ name: 'Bcme', properties: ['x', '1'] }),
    2n,
  );
  expect(result).toMatchObject({
    changed: true,
    outcome: 'over-cap',
    document: { name: 'Bcme', properties: FULL },
  });
});
