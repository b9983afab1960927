import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Accounts } from '../../infra/accounts/accounts.ts';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import { must } from '../../infra/assert.ts';
import { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { Mirror } from '../../infra/bus/mirror.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { Store } from '../../infra/store/store.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { ALIASES_BUCKET } from '../../ingest/entity-update.ts';
import { type Delivery, deliverySchema, INTEGRATION_PREFIX } from '../../processor/integration.ts';
import { CONNECTION_PREFIX, type Sync, syncSchema } from '../../processor/search-console.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { Passphrases } from '../sign-in/passphrases.ts';
import { Catalog } from './catalog.ts';
import { manageEndpoints } from './endpoints.ts';
import { ControlRecords } from './records.ts';
import { BUCKET, makeSiteWithAll, OAUTH, type SiteIds, type SiteWithAll } from './testing/fixtures.ts';
import {
  type ClientKey,
  type ManageAnswer,
  type ManageService,
  startManageService,
} from './testing/manage-service.ts';

/** The query and body of a request, and which ids they contain. */
interface Case {
  readonly body?: (ids: SiteIds) => unknown;
  readonly query?: (ids: SiteIds) => string;
  readonly names?: readonly (keyof SiteIds)[];
  /** The endpoint needs the store, which is absent here: an allowed client gets 503. */
  readonly needsStore?: boolean;
  /** The endpoint changes nothing on the bus, although its method is not GET. */
  readonly writesNothing?: boolean;
  /** The endpoint answers for a deleted site only. */
  readonly isOfDeleted?: boolean;
}

const DASHBOARDS = '/manage/projects/:projectId/dashboards';
const REPORTS = `${DASHBOARDS}/:dashboardId/reports`;
const SEGMENTS = '/manage/projects/:projectId/segments';
const GOALS = '/manage/projects/:projectId/goals';
const GSC = '/manage/projects/:projectId/gsc';
const INTEGRATION = '/manage/integrations/:integrationId';
const ROW = { date: '2026-03-01', query: 'shoes', page: '/', clicks: 1, impressions: 2, position: 3 };
const named = { body: () => ({ name: 'Renamed' }) };
const bySite: Case = { query: ({ projectId }) => `?projectId=${projectId}`, names: ['projectId'] };

/** Every endpoint below `/manage`. */
const CASES: Readonly<Record<string, Case>> = {
  'get /manage/projects': {},
  'post /manage/projects': named,
  'get /manage/projects/:projectId': {},
  'patch /manage/projects/:projectId': named,
  'delete /manage/projects/:projectId': {},
  'post /manage/projects/:projectId/restore': { isOfDeleted: true },
  'get /manage/clients': bySite,
  'post /manage/clients': {
    body: ({ projectId }) => ({ name: 'New', type: 'read', projectId }),
    names: ['projectId'],
  },
  'get /manage/clients/:clientId': {},
  'patch /manage/clients/:clientId': named,
  'delete /manage/clients/:clientId': {},
  'post /manage/clients/:clientId/rotate': {},
  'get /manage/shares': bySite,
  'post /manage/shares': { body: ({ projectId }) => ({ projectId, name: 'New' }), names: ['projectId'] },
  'get /manage/shares/:shareId': {},
  'patch /manage/shares/:shareId': named,
  'delete /manage/shares/:shareId': {},
  'get /manage/users': {},
  'post /manage/users': {
    body: ({ projectId }) => ({
      name: 'New',
      email: `new-${projectId}@shop.example`,
      role: 'read',
      sites: [projectId],
      passphrase: 'four words are enough',
    }),
    names: ['projectId'],
  },
  'get /manage/users/:userId': {},
  'patch /manage/users/:userId': named,
  'delete /manage/users/:userId': {},
  'get /manage/references': bySite,
  'post /manage/references': {
    body: ({ projectId }) => ({ projectId, title: 'New', date: '2026-03-01' }),
    names: ['projectId'],
  },
  'get /manage/references/:referenceId': {},
  'patch /manage/references/:referenceId': { body: () => ({ title: 'Renamed' }) },
  'delete /manage/references/:referenceId': {},
  [`get ${DASHBOARDS}`]: {},
  [`post ${DASHBOARDS}`]: named,
  [`get ${DASHBOARDS}/:dashboardId`]: {},
  [`patch ${DASHBOARDS}/:dashboardId`]: named,
  [`delete ${DASHBOARDS}/:dashboardId`]: {},
  [`get ${REPORTS}`]: {},
  [`post ${REPORTS}`]: { body: () => ({ name: 'New', series: [{ name: '*' }] }) },
  [`get ${REPORTS}/:reportId`]: {},
  [`patch ${REPORTS}/:reportId`]: named,
  [`delete ${REPORTS}/:reportId`]: {},
  [`get ${SEGMENTS}`]: {},
  [`post ${SEGMENTS}`]: {
    body: () => ({ name: 'New', filters: [{ name: 'path', operator: 'is', value: ['/'] }] }),
  },
  [`get ${SEGMENTS}/:segmentId`]: {},
  [`patch ${SEGMENTS}/:segmentId`]: named,
  [`delete ${SEGMENTS}/:segmentId`]: {},
  [`get ${GOALS}`]: {},
  [`post ${GOALS}`]: { body: () => ({ name: 'New', type: 'page', path: '/thanks*' }) },
  [`get ${GOALS}/:goalId`]: {},
  [`patch ${GOALS}/:goalId`]: named,
  [`delete ${GOALS}/:goalId`]: {},
  'delete /manage/projects/:projectId/profiles/:profileId': {},
  'get /manage/projects/:projectId/erasures': {},
  'get /manage/projects/:projectId/erasures/:erasureId': {},
  'get /manage/projects/:projectId/aliases': {},
  'delete /manage/projects/:projectId/aliases/:alias': {},
  [`get ${GSC}`]: { needsStore: true },
  [`put ${GSC}`]: { body: () => ({ siteUrl: 'https://site.example/', auth: OAUTH }) },
  [`delete ${GSC}`]: {},
  [`post ${GSC}/rows`]: { body: () => ({ rows: [ROW] }), needsStore: true },
  'get /manage/integrations': bySite,
  'post /manage/integrations': {
    body: ({ projectId }) => ({ projectId, ...BUCKET }),
    names: ['projectId'],
  },
  [`get ${INTEGRATION}`]: {},
  [`patch ${INTEGRATION}`]: named,
  [`delete ${INTEGRATION}`]: {},
  [`post ${INTEGRATION}/test`]: { writesNothing: true },
  [`post ${INTEGRATION}/pause`]: {},
  [`post ${INTEGRATION}/resume`]: {},
  'get /manage/audit': {},
  [`post ${INTEGRATION}/backfill`]: { body: () => ({ from: '2026-02-01', to: '2026-02-28' }) },
};

const UNKNOWN: SiteIds = {
  projectId: 'nowhere',
  clientId: randomUUID(),
  userId: randomUUID(),
  shareId: randomUUID(),
  referenceId: randomUUID(),
  dashboardId: randomUUID(),
  reportId: randomUUID(),
  segmentId: randomUUID(),
  goalId: randomUUID(),
  erasureId: randomUUID(),
  alias: 'unknown',
  integrationId: randomUUID(),
};
/** Longer than the window in which failed authentications are counted. */
const FAILURE_WINDOW_MS = 11_000;

const calls = (['get', 'put', 'remove', 'keys'] as const).map((name) => vi.spyOn(KeyedBytes.prototype, name));
const busCalls = () =>
  calls.flatMap(({ mock }) => mock.calls as readonly unknown[][]).filter(isOfRequest).length;

/** The audit log has its own bucket, and is written for every known client. Last uses are recorded on a timer. */
function isOfRequest([key, bytes]: readonly unknown[]): boolean {
  if (/^(?:next|entry)\./.test(String(key))) return false;
  return !(bytes instanceof Uint8Array && Buffer.from(bytes).includes('"usedAt"'));
}

let service: ManageService;
let root: ClientKey;
let foreign: SiteWithAll;

beforeAll(async () => {
  service = await startManageService(['team', 'others']);
  root = must(service.roots.team, 'the team has a root client');
  foreign = await makeSiteWithAll(
    service,
    must(service.roots.others, 'the other team has a root client'),
    'Foreign',
  );
});
afterAll(() => service.stop());

test('the table has every endpoint', async () => {
  const log = createLogger('test', 'silent');
  const accounts = await Accounts.open(service.bus, log);
  const catalog = await Catalog.open(service.bus, log);
  const records = new ControlRecords(service.control);
  const store = new Store({ url: 'http://127.0.0.1:1', database: 'none', requestTimeoutMs: 1 });
  const uses = { usedAt: () => undefined };
  const aliases = await service.bus.keyed(ALIASES_BUCKET);
  const deps = { accounts, uses, catalog, records, aliases, clock: service.clock, limits: readConfig({}) };
  const deliveries = new Mirror<Delivery>(INTEGRATION_PREFIX, deliverySchema);
  const away = {
    rowStores: new PerShard([{ store, isStoreReachable: () => false }]),
    secretsKey: '',
    passphrases: new Passphrases(),
    audit: await AuditLog.open(service.bus, service.clock),
    deliveries,
    syncs: new Mirror<Sync>(CONNECTION_PREFIX, syncSchema),
    bucketOf: () => undefined,
  };
  const endpoints = manageEndpoints({ ...deps, ...away });
  await store.close();
  accounts.stop();
  catalog.stop();
  const mounted = endpoints.map(({ method, pattern }) => `${method} ${pattern}`);
  expect(mounted.toSorted()).toEqual(Object.keys(CASES).toSorted());
  expect(endpoints.map(({ area }) => area)).toEqual(endpoints.map(() => 'manage'));
});

test.each(Object.entries(CASES))('%s', async (endpoint, known) => {
  const { ids: own, read, write } = await makeSiteWithAll(service, root, 'Own');
  const wrong = { id: root.id, secret: createSecret() };
  const variants = foreignIdsOf(endpoint, known, own);
  const send = (key: ClientKey | undefined, ids: SiteIds) => sendTo(endpoint, known, key, ids);
  const before = await stored(foreign);

  service.clock.advance(FAILURE_WINDOW_MS);
  const everywhere = [own, ...variants.flatMap((variant) => [variant.foreign, variant.unknown])];
  for (const [key, status] of [
    [undefined, 401],
    [wrong, 401],
    [read, 403],
    [write, 403],
  ] as const) {
    const { answers, bus } = await observed(() => Promise.all(everywhere.map((ids) => send(key, ids))));
    for (const answer of answers) {
      expect(answer.status).toBe(status);
      expect(answer.text).toBe(answers[0]?.text);
    }
    expect(bus).toBe(0);
  }

  for (const variant of variants) {
    const toForeign = await observed(async () => [await send(root, variant.foreign)]);
    const toUnknown = await observed(async () => [await send(root, variant.unknown)]);
    expect(toForeign.answers.map(({ status }) => status)).toEqual([404]);
    expect(toForeign.answers.map((answer) => anonymous(answer, variant.foreign))).toEqual(
      toUnknown.answers.map((answer) => anonymous(answer, variant.unknown)),
    );
    expect([toForeign.bus, toUnknown.bus]).toEqual([0, 0]);
  }
  expect(await stored(foreign)).toEqual(before);

  if (known.isOfDeleted) await service.ask(root, 'DELETE', `/manage/projects/${own.projectId}`);
  const { answers, bus } = await observed(async () => [await send(root, own)]);
  expect(answers.map(({ status }) => status)).toEqual([known.needsStore ? 503 : 200]);
  expect(bus > 0).toBe(!known.needsStore && !known.writesNothing && !endpoint.startsWith('get '));
  // The number of integrations per team is limited.
  await service.ask(root, 'DELETE', `/manage/integrations/${own.integrationId}`);
});

test.each(Object.entries(CASES))('%s rejects an unknown parameter', async (endpoint, known) => {
  const { ids: own } = await makeSiteWithAll(service, root, 'Strict');
  const query = known.query?.(own) ?? '';
  const surprised = { ...known, query: () => `${query}${query === '' ? '?' : '&'}surprise=1` };
  const { answers, bus } = await observed(async () => [await sendTo(endpoint, surprised, root, own)]);
  expect(answers.map(({ json }) => json)).toEqual([
    expect.objectContaining({ status: 400, message: expect.stringMatching(/^surprise: /) }),
  ]);
  expect(bus).toBe(0);
  await service.ask(root, 'DELETE', `/manage/integrations/${own.integrationId}`);
});

test.each(
  Object.keys(CASES).filter((endpoint) => /^post .*:integrationId\/(?:test|pause|resume)$/.test(endpoint)),
)('%s rejects a body with a field', async (endpoint) => {
  const { ids: own } = await makeSiteWithAll(service, root, 'Bodies');
  const statusWith = async (body: unknown) =>
    (await sendTo(endpoint, { body: () => body }, root, own)).status;
  expect(await statusWith({ paused: true })).toBe(400);
  expect(await statusWith([])).toBe(400);
  expect(await statusWith({})).toBe(200);
  await service.ask(root, 'DELETE', `/manage/integrations/${own.integrationId}`);
});

test('no response contained a hash, and each secret was in exactly one', () => {
  const secrets: string[] = [];
  for (const text of service.answers) {
    expect(text).not.toMatch(/secretHash|passphraseHash|tokenHash|scrypt|hmac-|storedId|"sealed"/);
    secrets.push(...new Set(text.match(/sec_[0-9a-f]{40}/g)));
  }
  expect(secrets.length).toBeGreaterThan(Object.keys(CASES).length);
  expect(new Set(secrets).size).toBe(secrets.length);
});

test('a client may send 20 manage requests in 10 seconds', async () => {
  const limited = await startManageService(['team'], { MANAGE_LIMIT_PER_10_S: '20' });
  const ask = () => limited.ask(limited.roots.team, 'GET', '/manage/projects');
  for (let request = 1; request <= 20; request += 1) expect((await ask()).status).toBe(200);
  const rejected = await ask();
  expect(rejected.status).toBe(429);
  expect(rejected.headers.get('ratelimit-limit')).toBe('20');
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
  limited.clock.advance(10_001);
  expect((await ask()).status).toBe(200);
  await limited.stop();
});

interface ForeignIds {
  readonly foreign: SiteIds;
  readonly unknown: SiteIds;
}

/** Variants of the own ids: from each id in the request on, the ids of another team, or ids that do not exist. */
function foreignIdsOf(endpoint: string, { names = [] }: Case, own: SiteIds): ForeignIds[] {
  const all = [...[...endpoint.matchAll(/:(\w+)/g)].map(([, name = '']) => name), ...names].filter(
    (name) => name !== 'profileId',
  );
  return all.map((_, from) => {
    const replaced = all.slice(from);
    const pick = (ids: SiteIds) => ({
      ...own,
      ...Object.fromEntries(Object.entries(ids).filter(([name]) => replaced.includes(name))),
    });
    return { foreign: pick(foreign.ids), unknown: pick(UNKNOWN) };
  });
}

function sendTo(
  endpoint: string,
  { body, query }: Case,
  key: ClientKey | undefined,
  ids: SiteIds,
): Promise<ManageAnswer> {
  const [method = '', pattern = ''] = endpoint.split(' ');
  const byName = new Map(Object.entries(ids));
  const path = pattern.replace(/:(\w+)/g, (_, name: string) =>
    // Any text names a profile, so there is no foreign one.
    name === 'profileId' ? 'somebody' : encodeURIComponent(must(byName.get(name), `no ${name}`)),
  );
  const sent = body === undefined ? {} : { body: body(ids) };
  return service.ask(key, method.toUpperCase(), path + (query?.(ids) ?? ''), sent);
}

/** The answers to some requests, and the number of calls to the bus that they caused. */
async function observed(
  requests: () => Promise<ManageAnswer[]>,
): Promise<{ readonly answers: ManageAnswer[]; readonly bus: number }> {
  const before = busCalls();
  const answers = await requests();
  return { answers, bus: busCalls() - before };
}

/** The whole answer with the ids replaced. */
function anonymous({ status, text, headers }: ManageAnswer, ids: SiteIds): unknown {
  const without = Object.values(ids).reduce((rest, id) => rest.replaceAll(id, '<id>'), text);
  return { status, text: without, headers: [...headers.keys()].toSorted() };
}

/** The revisions of the records of a site. */
async function stored({ ids }: SiteWithAll): Promise<readonly unknown[]> {
  const keys = [
    `site.${ids.projectId}`,
    `client.${ids.clientId}`,
    `user.${ids.userId}`,
    `share.${ids.shareId}`,
    `reference.${ids.referenceId}`,
    `dashboard.${ids.dashboardId}`,
    `report.${ids.reportId}`,
    `segment.${ids.segmentId}`,
    `goal.${ids.goalId}`,
    `gsc.${ids.projectId}`,
    `integration.${ids.integrationId}`,
  ];
  const values = await Promise.all(keys.map((key) => service.control.get(key)));
  return values.map((value) => must(value?.bytes && value.revision, 'it is stored'));
}
