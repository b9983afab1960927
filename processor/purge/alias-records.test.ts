import { expect, test } from 'vitest';
import { aliasesOfPerson, namesOfPerson } from './alias-records.ts';

const aliases = [
  { alias: 'nick', profileId: 'ada' },
  { alias: 'ada', profileId: 'ada@example.org' },
  { alias: 'old', profileId: 'nick' },
  { alias: 'bob', profileId: 'robert' },
  { alias: 'victim', profileId: 'ada', verified: false },
  { alias: 'nick', profileId: 'attacker', verified: false },
].map((alias) => ({ verified: true, ...alias }));
const all = ['ada', 'ada@example.org', 'nick', 'old'];

test.each([
  ...all.map((name) => [name, all]),
  ['bob', ['bob', 'robert']],
  ['stranger', ['stranger']],
  ['victim', ['victim']],
])('%s is known by %j', (name, names) => {
  expect(namesOfPerson(aliases, String(name)).toSorted()).toEqual(names);
});

test('names that stand for each other are one person', () => {
  const circle = [
    { alias: 'a', profileId: 'b', verified: true },
    { alias: 'b', profileId: 'a', verified: true },
  ];
  expect(namesOfPerson(circle, 'a').toSorted()).toEqual(['a', 'b']);
});

test('with a person go the aliases of their names; those that a stranger made are undone', () => {
  const { erased, undone } = aliasesOfPerson(aliases, namesOfPerson(aliases, 'ada'));
  expect(erased.map(({ alias }) => alias)).toEqual(['nick', 'ada', 'old']);
  expect(undone.map(({ alias, profileId }) => [alias, profileId])).toEqual([
    ['victim', 'ada'],
    ['nick', 'attacker'],
  ]);
});
