import { expect, test } from 'vitest';
import { type Client, clientSchema, type Site, siteSchema } from '../../infra/accounts/accounts.ts';
import { RejectError } from '../reject.ts';
import { type Directory, siteFor, siteForExport } from './access.ts';

const AT = '2026-01-01T00:00:00.000Z';
const sites = new Map<string, Site>(
  [
    ['mine', 'team-1'],
    ['sister', 'team-1'],
    ['foreign', 'team-2'],
  ].map(([id, teamId]) => [
    id ?? '',
    siteSchema.parse({ id, teamId, name: id, createdAt: AT, updatedAt: AT }),
  ]),
);
const directory: Directory = { site: (id) => sites.get(id), client: () => undefined };

function client(type: Client['type']): Client {
  return clientSchema.parse({
    id: '6d1c5a0e-6a33-4c2b-9a55-0f3f6f0f2b11',
    name: type,
    type,
    projectId: type === 'root' ? null : 'mine',
    teamId: 'team-1',
    createdAt: AT,
    updatedAt: AT,
    secretHash: '',
  });
}

function outcome(ask: () => Site): string | number {
  try {
    return ask().id;
  } catch (error) {
    if (error instanceof RejectError) return error.status;
    throw error;
  }
}

test.each([
  ['write', 'mine', 403],
  ['write', 'foreign', 403],
  ['read', 'mine', 'mine'],
  ['read', 'sister', 403],
  ['read', 'foreign', 403],
  ['read', 'nowhere', 403],
  ['root', 'mine', 'mine'],
  ['root', 'sister', 'sister'],
  ['root', 'foreign', 404],
  ['root', 'nowhere', 404],
] as const)('a %s client that names %s gets %s', (type, projectId, expected) => {
  expect(outcome(() => siteFor(client(type), projectId, directory))).toBe(expected);
  expect(outcome(() => siteForExport(client(type), projectId, directory))).toBe(expected);
});

test.each([
  ['write', 403],
  ['read', 'mine'],
  ['root', 400],
] as const)('a %s client that names no site to export gets %s', (type, expected) => {
  expect(outcome(() => siteForExport(client(type), undefined, directory))).toBe(expected);
});

test('a read client of a deleted site gets 404', () => {
  const gone = { ...client('read'), projectId: 'gone' };
  expect(outcome(() => siteFor(gone, 'gone', directory))).toBe(404);
});
