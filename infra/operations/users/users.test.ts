import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../root.ts';
import { busRights, busUsers } from '../../testing/bus-with-users.ts';
import { usersForLanes } from './for-lanes.mjs';

// The files of this folder by themselves.

const textOf = (name: string) => readFileSync(join(projectRoot, 'infra/operations/users', name), 'utf8');
const rightsOf = (user: string) =>
  busRights()
    .filter((right) => right.user === user)
    .map(({ kind, subject }) => `${kind} ${subject}`)
    .filter((right) => !right.includes('_INBOX.'));

test('collector and query in one process have the rights of both, and no others', () => {
  const both = new Set([...rightsOf('collector'), ...rightsOf('query')]);
  expect(rightsOf('web').sort()).toEqual([...both].sort());
});

test('each user reads the answers to itself only', () => {
  expect(busRights().filter(({ subject }) => subject.includes('_INBOX'))).toEqual(
    busUsers().map((user) => ({ user, kind: 'subscribe', subject: `_INBOX.${user}.>` })),
  );
});

test('nothing is allowed twice', () => {
  for (const user of busUsers()) expect(new Set(rightsOf(user)).size).toBe(rightsOf(user).length);
});

test('README.md names every user of bus and store', () => {
  const store = [...textOf('clickhouse-users.sql').matchAll(/CREATE USER IF NOT EXISTS (\w+)/g)];
  const names = [...busUsers(), ...store.map(([, name = '']) => name)];
  expect(names).toHaveLength(9);
  for (const name of names) expect(textOf('README.md')).toContain(`\`${name}\``);
});

test('with several lanes each right of the first is a right of all, and nothing else changes', () => {
  const text = textOf('nats-users.conf');
  const rightsIn = (config: string) => [...config.matchAll(/"[^"]*"/g)].map(([right]) => right);
  expect(usersForLanes(text, 1)).toBe(text);
  const [one, three] = [rightsIn(text), rightsIn(usersForLanes(text, 3))];
  const ofLane = (lane: number) =>
    three.filter((right) => new RegExp(`[.]${lane}(?=[."])|lane-${lane}(?=[-"])`).test(right));
  for (const lane of [1, 2])
    expect(ofLane(lane)).toEqual(
      ofLane(0).map((right) => right.replace(/([.]|lane-)0(?=[-."])/, `$1${lane}`)),
    );
  expect(three.filter((right) => !ofLane(1).includes(right) && !ofLane(2).includes(right))).toEqual(one);
  expect(ofLane(0).length).toBeGreaterThan(40);
});

test('while a service grows, the rights of a lane hold for its names of before and of afterwards', () => {
  const growing = usersForLanes(textOf('nats-users.conf'), 4, 2);
  for (const right of [
    'lanes.0.events',
    'lanes.1-of-2.events',
    'lanes.3-of-4.events',
    'hot.3-of-4',
    'dead-letters.3',
  ])
    expect(growing).toContain(`"${right}"`);
  expect(growing).toContain('"$JS.API.STREAM.UPDATE.lane-3-records"');
  for (const other of ['lanes.2-of-2', 'lane-0-of', 'lanes.4-of-4']) expect(growing).not.toContain(other);
});
