import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { clientsAnswer } from './client-api.ts';
import { projectsAnswer } from './project-api.ts';
import {
  type ClientKey,
  type ManageAnswer,
  type ManageService,
  startManageService,
} from './testing/manage-service.ts';

const SITES_MAX = 3;
const CLIENTS_MAX = 6;
const limits = { SITES_PER_TEAM_MAX: String(SITES_MAX), CLIENTS_PER_TEAM_MAX: String(CLIENTS_MAX) };

let service: ManageService;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['sites', 'clients', 'racing', 'both', 'purged', 'other'], limits);
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

function rootOf(team: string): ClientKey {
  return must(service.roots[team], 'the team has a root client');
}

function makeSite(team: string, name: string, baseUrl?: string): Promise<ManageAnswer> {
  const sent = { body: { name }, ...(baseUrl === undefined ? {} : { baseUrl }) };
  return service.ask(rootOf(team), 'POST', '/manage/projects', sent);
}

function makeRoot(team: string, baseUrl?: string): Promise<ManageAnswer> {
  const sent = { body: { name: 'more', type: 'root' }, ...(baseUrl === undefined ? {} : { baseUrl }) };
  return service.ask(rootOf(team), 'POST', '/manage/clients', sent);
}

async function sitesOf(team: string): Promise<string[]> {
  const { data } = await service.read(projectsAnswer, rootOf(team), 'GET', '/manage/projects');
  return data.map(({ id }) => id);
}

async function clientsOf(team: string): Promise<number> {
  return (await service.read(clientsAnswer, rootOf(team), 'GET', '/manage/clients')).data.length;
}

test('a team has at most SITES_PER_TEAM_MAX sites, and another team is not affected', async () => {
  for (let site = 0; site < SITES_MAX; site += 1)
    expect((await makeSite('sites', `Site ${site}`)).status).toBe(200);
  const rejected = await makeSite('sites', 'One more');
  expect([rejected.status, rejected.json]).toEqual([
    409,
    expect.objectContaining({ message: expect.stringMatching(/limit of 3 sites per team/) }),
  ]);
  expect(await sitesOf('sites')).toHaveLength(SITES_MAX);
  expect((await makeSite('other', 'Elsewhere')).status).toBe(200);
});

test('a deleted site counts until it is purged, because it can be restored', async () => {
  for (let site = 0; site < SITES_MAX; site += 1)
    expect((await makeSite('purged', `Purged ${site}`)).status).toBe(200);
  const [first = ''] = await sitesOf('purged');
  await service.ask(rootOf('purged'), 'DELETE', `/manage/projects/${first}`);
  expect((await makeSite('purged', 'Too early')).status).toBe(409);
  await service.purge(rootOf('purged'), first);
  expect((await makeSite('purged', 'In time')).status).toBe(200);
  expect((await makeSite('purged', 'One too many')).status).toBe(409);
});

test('a team has at most CLIENTS_PER_TEAM_MAX clients', async () => {
  for (let client = 1; client < CLIENTS_MAX; client += 1)
    expect((await makeRoot('clients')).status).toBe(200);
  const rejected = await makeRoot('clients');
  expect([rejected.status, rejected.json]).toEqual([
    409,
    expect.objectContaining({ message: expect.stringMatching(/limit of 6 clients per team/) }),
  ]);
  expect(await clientsOf('clients')).toBe(CLIENTS_MAX);
  // A site comes with a client, so it is not created either.
  expect((await makeSite('clients', 'Without a client')).status).toBe(409);
  expect(await sitesOf('clients')).toEqual([]);
});

test('concurrent creations through two processes fill the limit and never exceed it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) => makeRoot('racing', index % 2 === 0 ? undefined : secondUrl)),
  );
  const made = answers.filter(({ status }) => status === 200);
  expect(made).toHaveLength(CLIENTS_MAX - 1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  expect(await clientsOf('racing')).toBe(CLIENTS_MAX);
});

test('concurrent creations of sites leave no site without its client', async () => {
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      makeSite('both', 'Same name', index % 2 === 0 ? undefined : secondUrl),
    ),
  );
  const made = answers.filter(({ status }) => status === 200);
  expect(made).toHaveLength(SITES_MAX);
  const ids = await sitesOf('both');
  expect(ids).toHaveLength(SITES_MAX);
  expect(await clientsOf('both')).toBe(SITES_MAX + 1);
});
