import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { referencesAnswer } from './catalog-api.ts';
import {
  projectAnswer,
  projectChange,
  projectCreated,
  projectCreation,
  projectsAnswer,
} from './project-api.ts';
import { makeSiteWithAll } from './testing/fixtures.ts';
import { largestOf } from './testing/largest-body.ts';
import {
  type ClientKey,
  type ManageService,
  type Sent,
  startManageService,
} from './testing/manage-service.ts';

const ALL = '/manage/projects';

let service: ManageService;
let root: ClientKey;
let others: ClientKey;
let secondUrl: string;

beforeAll(async () => {
  service = await startManageService(['team', 'others', 'listing']);
  root = must(service.roots.team, 'the team has a root client');
  others = must(service.roots.others, 'so have the others');
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

const one = (id: string) => `${ALL}/${id}`;
const make = (body: unknown, key = root) => service.read(projectCreated, key, 'POST', ALL, { body });
const site = (id: string, sent?: Sent) => service.read(projectAnswer, root, 'GET', one(id), sent);
const patch = (id: string, body: unknown, sent: Sent = {}) =>
  service.ask(root, 'PATCH', one(id), { body, ...sent });
const knownElsewhere = (id: string) =>
  expect.poll(async () => (await service.ask(root, 'GET', one(id), { baseUrl: secondUrl })).status).toBe(200);

describe('a new site', () => {
  test('has the given fields, defaults for the rest, and a write client', async () => {
    const { data } = await make({ name: '  Plain  ' });
    const { client, ...shown } = data;
    expect(shown).toMatchObject({
      id: 'plain',
      teamId: 'team',
      name: 'Plain',
      domain: null,
      cors: [],
      timezone: 'UTC',
      currency: 'USD',
      types: ['website'],
      screenViews: true,
      outgoingLinks: false,
      replaySampleRate: 1,
      filters: { addresses: [], profileIds: [], names: [], paths: [] },
      retentionDays: null,
      eventsPerSecondMax: null,
      deletion: null,
      createdAt: shown.updatedAt,
    });
    expect(client).toMatchObject({ type: 'write', secret: expect.stringMatching(/^sec_[0-9a-f]{40}$/) });
    expect((await site('plain')).data).toEqual(shown);

    const full = {
      name: 'Full',
      domain: 'https://full.example',
      timezone: 'Europe/Berlin',
      currency: 'eur',
      types: ['app', 'backend'],
    };
    expect((await make(full)).data).toMatchObject({
      ...full,
      currency: 'EUR',
      cors: ['https://full.example'],
    });
    const cors = ['*.full.example', 'http://localhost:3000'];
    expect((await make({ ...full, cors })).data).toMatchObject({ id: 'full-2', cors });
  });

  test('has the slug of its name as id, with a number if its team has it, and a random end if another team has it', async () => {
    expect((await make({ name: 'Café Ünïcode' })).data.id).toBe('cafe-unicode');
    expect((await make({ name: 'cafe unicode!' }, others)).data.id).toMatch(/^cafe-unicode-[0-9a-z]{6}$/);
    expect((await make({ name: '北京' })).data.id).toBe('site');
    const sameNamed = await Promise.all(Array.from({ length: 5 }, () => make({ name: 'Shoe shop' })));
    expect(sameNamed.map(({ data }) => data.id).toSorted()).toEqual([
      'shoe-shop',
      'shoe-shop-2',
      'shoe-shop-3',
      'shoe-shop-4',
      'shoe-shop-5',
    ]);
  });

  test('is first in the list of its team and absent from those of others', async () => {
    const listing = must(service.roots.listing, 'the team has a root client');
    for (const name of ['Eldest', 'Middle', 'Youngest']) {
      await make({ name }, listing);
      service.clock.advance(1);
    }
    const { data } = await service.read(projectsAnswer, listing, 'GET', ALL);
    expect(data.map(({ id }) => id)).toEqual(['youngest', 'middle', 'eldest']);
  });

  test('is known to every server within two seconds', async () => {
    await make({ name: 'Everywhere' });
    await knownElsewhere('everywhere');
    await patch('everywhere', { name: 'Changed' });
    const elsewhere = () => service.ask(root, 'GET', one('everywhere'), { baseUrl: secondUrl });
    await expect.poll(async () => (await elsewhere()).text).toContain('"Changed"');
  });
});

describe('an invalid body is rejected with the name of the field', () => {
  beforeAll(() => make({ name: 'Wrong' }));

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: '   ' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'a', domain: 'not a domain' }, 'domain'],
    [{ name: 'a', cors: 'https://a.example' }, 'cors'],
    [{ name: 'a', cors: ['https://a.example', 'https://a b'] }, 'cors.1'],
    [{ name: 'a', timezone: 'Mars/Olympus' }, 'timezone'],
    [{ name: 'a', currency: 'XYZ' }, 'currency'],
    [{ name: 'a', types: ['shop'] }, 'types.0'],
    [{ name: 'a', colour: 'red' }, 'colour'],
    [{ name: 'a', screenViews: true }, 'screenViews'],
    [{ name: 'a', id: 'mine' }, 'id'],
    [{ name: 'a', storedId: 'mine' }, 'storedId'],
    [[], 'body'],
    [null, 'body'],
    ['{"name":', 'body'],
  ])('when a site is created with %j', async (body, field) => {
    const { status, json } = await service.ask(root, 'POST', ALL, { body });
    expect(status).toBe(400);
    expect(json).toMatchObject({ status: 400, message: expect.stringMatching(`^${field}: `) });
  });

  test.each([
    [{ name: null }, 'name'],
    [{ domain: 'a b' }, 'domain'],
    [{ cors: [''] }, 'cors.0'],
    [{ timezone: null }, 'timezone'],
    [{ currency: 'euro' }, 'currency'],
    [{ types: 'website' }, 'types'],
    [{ screenViews: 'yes' }, 'screenViews'],
    [{ replaySampleRate: 1.5 }, 'replaySampleRate'],
    [{ paymentProviders: [''] }, 'paymentProviders.0'],
    [{ filters: { addresses: ['300.0.0.1'] } }, 'filters.addresses.0'],
    [{ filters: { paths: [7] } }, 'filters.paths.0'],
    [{ filters: { countries: ['DE'] } }, 'filters.countries'],
    [{ allowUnsafeRevenue: 1 }, 'allowUnsafeRevenue'],
    [{ filterReferrerSpam: 'no' }, 'filterReferrerSpam'],
    [{ publicWidget: null }, 'publicWidget'],
    [{ feed: 'yes' }, 'feed'],
    [{ feedSubject: 'feed.>' }, 'feedSubject'],
    [{ retentionDays: 0 }, 'retentionDays'],
    [{ retentionDays: 1.5 }, 'retentionDays'],
    [{ eventsPerSecondMax: 0 }, 'eventsPerSecondMax'],
    [{ eventsPerSecondMax: 1_000_001 }, 'eventsPerSecondMax'],
    [{ teamId: 'others' }, 'teamId'],
    [{ deletion: null }, 'deletion'],
    [{ createdAt: '2026-01-01T00:00:00.000Z' }, 'createdAt'],
  ])('when a site is changed to %j', async (body, field) => {
    const before = await site('wrong');
    const { status, json } = await patch('wrong', body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ message: expect.stringMatching(`^${field}: `) });
    expect(await site('wrong')).toEqual(before);
  });

  test('also when it is not JSON or too long', async () => {
    const typed = (type: string, body: string) =>
      service.ask(root, 'POST', ALL, { body, headers: { 'content-type': type } });
    expect((await typed('application/xml', '<name/>')).status).toBe(415);
    expect((await typed('text/plain', '{"name":"Beacon"}')).status).toBe(200);
    expect((await typed('application/json', `"${'x'.repeat(1_048_576)}"`)).status).toBe(413);
  });
});

describe('the longest lists', () => {
  const schemas = { creation: projectCreation, change: projectChange };
  // Entries of the greatest length with which a record with all of these fields still fits.
  const entries = Array.from({ length: 1_000 }, (_, index) => `entry-${index}`.padEnd(40, 'x'));
  const fields = ['cors', 'filters.profileIds', 'filters.names', 'filters.paths'];
  const given = Object.fromEntries(fields.map((field) => [`body.${field}`, entries]));
  test.each(['creation', 'change'] as const)('of a %s are stored and returned', async (kind) => {
    const { data } = await make({ name: `Longest ${kind}` });
    const largest = largestOf(schemas[kind], given) as { readonly cors: readonly string[] };
    expect(largest.cors).toHaveLength(1_000);
    const changed =
      kind === 'change'
        ? await patch(data.id, largest)
        : await service.ask(root, 'POST', ALL, { body: largest });
    expect(changed.status).toBe(200);
    const { id } = projectAnswer.parse(changed.json).data;
    expect((await site(id)).data).toMatchObject(largest);
    if (kind === 'change')
      expect((await patch(id, { ...largest, cors: [...largest.cors, '*'] })).json).toMatchObject({
        status: 400,
        message: 'cors: expected at most 1000 entries',
      });
  });
});

describe('a change', () => {
  test('replaces only the given fields, and within filters only the given lists', async () => {
    await make({ name: 'Changing', domain: 'a.example' });
    const changes = {
      domain: null,
      timezone: 'Asia/Tokyo',
      screenViews: false,
      filters: { paths: ['/admin*'] },
      retentionDays: 30,
      eventsPerSecondMax: 500,
    };
    const before = (await site('changing')).data;
    service.clock.advance(5);
    const changed = await patch('changing', changes);
    const { data } = projectAnswer.parse(changed.json);
    expect(data).toEqual({
      ...before,
      ...changes,
      filters: { ...before.filters, paths: ['/admin*'] },
      updatedAt: new Date(service.clock.nowMs()).toISOString(),
    });
    await patch('changing', { filters: { names: ['debug'] }, retentionDays: null });
    expect((await site('changing')).data).toMatchObject({
      filters: { paths: ['/admin*'], names: ['debug'] },
      retentionDays: null,
      domain: null,
      cors: ['a.example'],
    });
  });

  test('applies only if If-Match names the current version', async () => {
    await make({ name: 'Tagged' });
    const { etag } = await service.ask(root, 'GET', one('tagged'));
    const tagged = (tag: string) => patch('tagged', { name: 'Tagged' }, { headers: { 'if-match': tag } });
    const first = await tagged(etag);
    expect(first.status).toBe(200);
    expect(first.etag).toMatch(/^"\d+"$/);
    expect(first.etag).not.toBe(etag);
    expect((await service.ask(root, 'GET', one('tagged'))).etag).toBe(first.etag);
    const second = await tagged(etag);
    expect(second.status).toBe(412);
    expect(second.json).toMatchObject({ error: 'Precondition Failed' });
    expect((await tagged(`W/${first.etag}`)).status).toBe(412);
    expect((await tagged('tag')).status).toBe(400);
    expect((await tagged('*')).status).toBe(200);
    expect((await tagged('')).status).toBe(200);
    const removal = { headers: { 'if-match': etag } };
    expect((await service.ask(root, 'DELETE', one('tagged'), removal)).status).toBe(412);
  });

  test('is not lost among twenty concurrent ones on two servers', async () => {
    await make({ name: 'Busy' });
    await knownElsewhere('busy');
    const changes = {
      name: 'Busier',
      domain: 'busy.example',
      cors: ['*'],
      timezone: 'Asia/Kolkata',
      currency: 'INR',
      types: ['app'],
      screenViews: false,
      outgoingLinks: true,
      attributes: true,
      hashChanges: true,
      sessionReplay: true,
      replaySampleRate: 0.5,
      replayNeedsConsent: true,
      paymentProviders: ['one'],
      allowUnsafeRevenue: true,
      filterReferrerSpam: false,
      publicWidget: true,
      feed: true,
      retentionDays: 90,
    };
    const filters = { addresses: ['10.0.0.0/8'], profileIds: ['me'], names: ['debug'] };
    const bodies = [
      ...Object.entries(changes).map(([name, value]) => ({ [name]: value })),
      ...Object.entries(filters).map(([name, value]) => ({ filters: { [name]: value } })),
    ];
    expect(bodies).toHaveLength(22);
    const answers = await Promise.all(
      bodies.map((body, index) => patch('busy', body, index % 2 === 0 ? {} : { baseUrl: secondUrl })),
    );
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect((await site('busy')).data).toMatchObject({ ...changes, filters: { ...filters, paths: [] } });
    expect((await site('busy')).data.feedSubject).toBe('feed.busy.>');
  });

  test('wins alone among concurrent ones with the same If-Match', async () => {
    await make({ name: 'Contended' });
    await knownElsewhere('contended');
    for (let round = 0; round < 10; round += 1) {
      const { etag } = await service.ask(root, 'GET', one('contended'));
      const contenders = Array.from({ length: 6 }, (_, index) => `${round}.${index}`);
      const answers = await Promise.all(
        contenders.map((name, index) =>
          patch(
            'contended',
            { name },
            { headers: { 'if-match': etag }, ...(index % 2 === 0 ? {} : { baseUrl: secondUrl }) },
          ),
        ),
      );
      const won = contenders.filter((_, index) => answers[index]?.status === 200);
      expect(won).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(5);
      expect((await site('contended')).data.name).toBe(won[0]);
    }
  });
});

describe('a site that is deleted', () => {
  test('is hidden and rejects events at once, and states when it will be purged', async () => {
    const { ids } = await makeSiteWithAll(service, root, 'Doomed');
    const statusOf = async (method: string, path: string, body?: unknown) =>
      (await service.ask(root, method, path, body === undefined ? {} : { body })).status;
    const dashboard = `${one('doomed')}/dashboards/${ids.dashboardId}`;
    const usable: [method: string, path: string, body?: unknown][] = [
      ['PATCH', one('doomed'), { name: 'Saved' }],
      ['POST', '/manage/clients', { name: 'a', type: 'read', projectId: 'doomed' }],
      ['GET', '/manage/clients?projectId=doomed'],
      ['GET', '/manage/references?projectId=doomed'],
      ['POST', '/manage/references', { projectId: 'doomed', title: 'a', date: '2026-03-01' }],
      ['GET', `/manage/references/${ids.referenceId}`],
      ['GET', `${one('doomed')}/dashboards`],
      ['GET', dashboard],
      ['GET', `${dashboard}/reports`],
      ['GET', `${dashboard}/reports/${ids.reportId}`],
      ['GET', `${one('doomed')}/segments`],
      ['GET', `${one('doomed')}/segments/${ids.segmentId}`],
      ['GET', `${one('doomed')}/goals`],
      ['GET', `${one('doomed')}/goals/${ids.goalId}`],
    ];
    for (const [method, path, body] of usable) expect(await statusOf(method, path, body)).toBe(200);
    // No process owns a lane here, so a request for an existing site gets no further than 503.
    expect(await statusOf('GET', '/insights/doomed/live')).toBe(503);

    const nowMs = service.clock.nowMs();
    const { json } = await service.ask(root, 'DELETE', one('doomed'));
    const { deletion } = projectAnswer.parse(json).data;
    expect(deletion).toMatchObject({
      status: 'waiting',
      requestedAt: new Date(nowMs).toISOString(),
      purgeAt: new Date(nowMs + DAY_MS).toISOString(),
      startedAt: null,
    });
    for (const [method, path, body] of usable) expect(await statusOf(method, path, body)).toBe(404);
    expect(await statusOf('GET', '/insights/doomed/live')).toBe(404);
    expect((await site('doomed')).data.deletion).toEqual(deletion);
    const { data: sites } = await service.read(projectsAnswer, root, 'GET', ALL);
    expect(sites.map(({ id }) => id)).not.toContain('doomed');
    const { data: references } = await service.read(referencesAnswer, root, 'GET', '/manage/references');
    expect(references.map(({ projectId }) => projectId)).not.toContain('doomed');
  });

  test('can be purged at once or earlier than planned, but never later', async () => {
    await make({ name: 'Hurried' });
    const purgeAt = async (query: string) => {
      const { data } = await service.read(projectAnswer, root, 'DELETE', `${one('hurried')}${query}`);
      return Date.parse(must(data.deletion, 'it is deleted').purgeAt);
    };
    const deletedAtMs = service.clock.nowMs();
    expect(await purgeAt('')).toBe(deletedAtMs + DAY_MS);
    service.clock.advance(1_000);
    expect(await purgeAt('')).toBe(deletedAtMs + DAY_MS);
    expect(await purgeAt('?now=true')).toBe(deletedAtMs + 1_000);
    service.clock.advance(1_000);
    expect(await purgeAt('?now=true')).toBe(deletedAtMs + 1_000);
    expect(await purgeAt('')).toBe(deletedAtMs + 1_000);
    expect((await service.ask(root, 'DELETE', `${one('hurried')}?now=maybe`)).json).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^now: /),
    });
  });

  test('frees its id once it is purged, and the next site has another storedId', async () => {
    const storedId = async () => {
      const stored = must(await service.control.get(siteKeyOf('reused')), 'there is such a site');
      return siteSchema.parse(JSON.parse(Buffer.from(must(stored.bytes, 'not removed')).toString('utf8')))
        .storedId;
    };
    const { ids } = await makeSiteWithAll(service, root, 'Reused');
    expect(await storedId()).toBe('reused');
    await service.ask(root, 'DELETE', one('reused'));
    expect((await make({ name: 'Reused' })).data.id).toBe('reused-2');

    await service.purge(root, 'reused');
    const { data: next } = await make({ name: 'Reused' });
    expect(next).toMatchObject({ id: 'reused', deletion: null });
    expect(await storedId()).toBe('reused~2');
    // Records of the previous site are not found under the new one.
    expect((await service.ask(root, 'GET', `/manage/references/${ids.referenceId}`)).status).toBe(404);
    expect((await service.ask(root, 'GET', `${one('reused')}/dashboards`)).json).toEqual([]);
    const dashboard = `${one('reused')}/dashboards/${ids.dashboardId}`;
    expect((await service.ask(root, 'GET', `${dashboard}/reports`)).status).toBe(404);
    for (const kind of ['segments', 'goals'])
      expect((await service.ask(root, 'GET', `${one('reused')}/${kind}`)).json).toEqual({ data: [] });

    await service.purge(root, 'reused');
    expect((await make({ name: 'Reused' }, others)).data).toMatchObject({ id: 'reused', teamId: 'others' });
    expect(await storedId()).toBe('reused~3');
    expect((await service.ask(root, 'GET', one('reused'))).status).toBe(404);
    const { data } = await service.read(referencesAnswer, others, 'GET', '/manage/references');
    expect(data).toEqual([]);
  });
});
