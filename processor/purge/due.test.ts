import { expect, test } from 'vitest';
import { type Due, DueTurns } from './due.ts';

function dueOf(teamId: string, count: number, fromMs = 0): Due[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `${teamId}${index}`,
    teamId,
    askedAt: new Date(fromMs + index).toISOString(),
  }));
}

const keysOf = (due: readonly Due[]) => due.map(({ key }) => key);

test('teams take turns, however many requests one of them made before', () => {
  const turns = new DueTurns();
  const due = [...dueOf('many', 1_000), ...dueOf('few', 2, 5_000), ...dueOf('one', 1, 9_000)];
  expect(keysOf(turns.next(due, 6))).toEqual(['many0', 'few0', 'one0', 'many1', 'few1', 'many2']);
  expect(keysOf(turns.next(due, 2))).toEqual(['many3', 'many4']);
});

test('a team that asks during a pass comes next', () => {
  const turns = new DueTurns();
  const many = dueOf('many', 100);
  turns.next(many, 20);
  expect(keysOf(turns.next([...many, ...dueOf('late', 2, 1_000)], 4))).toEqual([
    ...['late0', 'late1', 'many20', 'many21'],
  ]);
});

test('each has one turn in a pass, the oldest of a team first', () => {
  const turns = new DueTurns();
  const due = dueOf('team', 5).reverse();
  expect(keysOf(turns.next(due, 3))).toEqual(['team0', 'team1', 'team2']);
  expect(turns.isAny(due)).toBe(true);
  expect(keysOf(turns.next(due, 20))).toEqual(['team3', 'team4']);
  expect(turns.isAny(due)).toBe(false);
  expect(turns.next(due, 20)).toEqual([]);
});
