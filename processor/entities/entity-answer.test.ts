import { expect, test } from 'vitest';
import { fromDevices, group, identify, mention, order, step } from '../entities/testing/updates.ts';
import { applyUpdate, type EntityDocument, type ReadUpdate } from './document.ts';
import { entityAnswerOf, type ReadEntity } from './entity-answer.ts';

function known(...updates: readonly ReadUpdate[]) {
  let document: EntityDocument | undefined;
  for (const [index, update] of updates.entries())
    document = applyUpdate(document, update, BigInt(index + 1)).document;
  if (document === undefined) throw new Error('nothing was made');
  return { kind: 'known' as const, document };
}

const profile = known(
  identify({ id: 'ada', firstName: 'Ada', ...fromDevices('phone') }),
  identify({ id: 'ada', authority: { kind: 'secret', devices: ['laptop'] } }),
);

function mayChange(read: ReadEntity, ...devices: string[]): boolean | undefined {
  const answer = entityAnswerOf(read, { devices });
  return answer.kind === 'found' ? answer.mayChange : undefined;
}

test.each([
  [true, ['phone']],
  [true, ['new', 'laptop']],
  [true, ['ada']],
  [false, ['stranger', 'stranger yesterday']],
  [false, []],
])('%j: whether a profile may be changed from the devices %j', (expected, devices) => {
  expect(mayChange(profile, ...devices)).toBe(expected);
});

test('a group may be changed from its devices, and described by anyone while it is only mentioned', () => {
  const made = known(group(fromDevices('phone')));
  expect([mayChange(made, 'phone'), mayChange(made, 'stranger')]).toEqual([true, false]);
  expect(mayChange(known(group()), 'phone')).toBe(false);
  expect(mayChange(known(mention()), 'stranger')).toBe(true);
});

test('without devices in the question, and of what waits for the store, the answer does not say it', () => {
  for (const answer of [
    entityAnswerOf(profile, {}),
    entityAnswerOf({ kind: 'provisional', document: profile.document }, { devices: ['stranger'] }),
  ]) {
    expect(answer).toMatchObject({ kind: 'found', record: { firstName: 'Ada' } });
    expect(answer).not.toHaveProperty('mayChange');
  }
});

test('no answer names a device of the entity', () => {
  const text = JSON.stringify(entityAnswerOf(profile, { devices: ['stranger'] }));
  expect(text).not.toMatch(/phone|laptop/);
});

test('what is absent or unavailable is said so', () => {
  for (const kind of ['absent', 'unavailable'] as const)
    expect(entityAnswerOf({ kind }, { devices: ['phone'] })).toEqual({ kind });
  const withoutAnswer = known(order());
  expect(entityAnswerOf(withoutAnswer, {})).toEqual({ kind: 'absent' });
  expect(entityAnswerOf(known(step()), {}).kind).toBe('found');
});
