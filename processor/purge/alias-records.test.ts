import { expect, test } from 'vitest';
import { namesOfPerson } from './alias-records.ts';

const aliases = [
  { alias: 'nick', profileId: 'ada' },
  { alias: 'ada', profileId: 'ada@example.org' },
  { alias: 'old', profileId: 'nick' },
  { alias: 'bob', profileId: 'robert' },
];
const all = ['ada', 'ada@example.org', 'nick', 'old'];

test.each([...all.map((name) => [name, all]), ['bob', ['bob', 'robert']], ['stranger', ['stranger']]])(
  '%s is known by %j',
  (name, names) => {
    expect(namesOfPerson(aliases, String(name)).toSorted()).toEqual(names);
  },
);

test('names that stand for each other are one person', () => {
  const circle = [
    { alias: 'a', profileId: 'b' },
    { alias: 'b', profileId: 'a' },
  ];
  expect(namesOfPerson(circle, 'a').toSorted()).toEqual(['a', 'b']);
});
