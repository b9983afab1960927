import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { type Answered, eventually, PAGE_ORIGIN, SiteOfCluster } from '../cluster/site-of-cluster.ts';

// A visitor without a secret can do nothing to others, unless the site allows it.

const WAIT_MAX_MS = 60_000;
const DEVICE = /^[0-9a-f]{32}$/;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox';

let cluster: Cluster;
let site: SiteOfCluster;
let visitors = 0;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], second: ['ingest'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn', MANAGE_LIMIT_PER_10_S: '0' },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
  await site.change({ cors: [PAGE_ORIGIN] });
});

afterAll(() => cluster?.stop());

type Send = (type: string, payload: object) => Promise<Answered>;

/** A visitor with their own browser, and so with their own device. */
function newVisitor(): Send {
  visitors += 1;
  const agent = `${FIREFOX}/${100 + visitors}.0`;
  return (type, payload) => site.browse(type, payload, { 'user-agent': agent });
}

async function expectStatus(status: number, answered: Promise<Answered>): Promise<Answered['body']> {
  const { status: found, body } = await answered;
  expect([found, body]).toEqual([status, body]);
  return body;
}

const identify = (send: Send, profileId: string, email: string) => send('identify', { profileId, email });

const profile = async (id: string) => (await site.askProfile(id)).body;

async function asRoot(method: string, path: string, body?: unknown): Promise<Answered['body']> {
  const { id, secret } = cluster.credentials.clients.root;
  const headers = {
    'content-type': 'application/json',
    'service-client-id': id,
    'service-client-secret': secret,
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answered = await site.exchange(path, { method, headers, ...sent });
  expect([answered.status, answered.body]).toEqual([200, answered.body]);
  return answered.body;
}

/** Changes settings of the site, and waits until the collectors answer accordingly. */
async function allow(
  settings: Readonly<Record<string, boolean>>,
  isIn: () => Promise<boolean>,
): Promise<void> {
  await asRoot('PATCH', '/manage/projects/demo', settings);
  await waitFor(`the settings ${JSON.stringify(settings)}`, isIn, WAIT_MAX_MS);
}

test('a visitor identifies, counts and joins groups on the own device, and a stranger changes nothing of it', async () => {
  const ada = newVisitor();
  const eve = newVisitor();
  await expectStatus(200, identify(ada, 'ada', 'ada@example.org'));
  await expectStatus(200, ada('increment', { profileId: 'ada', property: 'logins', value: 2 }));
  await expectStatus(200, ada('assign_group', { profileId: 'ada', groupIds: ['acme'] }));
  await expectStatus(200, ada('group', { id: 'acme', type: 'company', name: 'Acme' }));
  await expectStatus(200, ada('group', { id: 'acme', type: 'company', name: 'Acme Ltd' }));
  // An event that names the profile gives no right to it.
  await expectStatus(200, eve('track', { name: 'seen', profileId: 'ada' }));
  for (const [type, payload] of [
    ['identify', { profileId: 'ada', email: 'eve@example.org' }],
    ['increment', { profileId: 'ada', property: 'logins' }],
    ['decrement', { profileId: 'ada', property: 'logins' }],
    ['assign_group', { profileId: 'ada', groupIds: ['evil'] }],
    ['group', { id: 'acme', type: 'company', name: 'Evil' }],
  ] as const)
    expect(await expectStatus(202, eve(type, payload))).toMatchObject({
      reason: expect.stringContaining('allowUnsafeIdentify'),
    });
  await expectStatus(200, identify(eve, 'eve', 'eve@example.org'));
  await expectStatus(200, eve('assign_group', { groupIds: ['visitors'] }));
  expect(await profile('ada')).toMatchObject({
    email: 'ada@example.org',
    properties: { logins: '2' },
    groups: ['acme'],
  });
  expect((await site.ask('/insights/demo/groups/acme')).body).toMatchObject({ name: 'Acme Ltd' });
  expect(await profile('eve')).toMatchObject({ email: 'eve@example.org' });
});

test('a program with a secret changes every profile, and gives devices to it', async () => {
  const phone = newVisitor();
  const laptop = newVisitor();
  const deviceOf = async (send: Send) =>
    String((await expectStatus(200, send('track', { name: 'seen' }))).deviceId);
  await expectStatus(200, site.send('identify', { profileId: 'bob', email: 'bob@example.org' }));
  await expectStatus(202, identify(phone, 'bob', 'phone@example.org'));
  const [ofPhone, ofLaptop] = [await deviceOf(phone), await deviceOf(laptop)];
  expect(ofPhone).toMatch(DEVICE);
  const named = { profileId: 'bob', properties: { __deviceId: ofPhone } };
  await expectStatus(200, site.send('identify', named));
  await expectStatus(200, identify(phone, 'bob', 'phone@example.org'));
  await expectStatus(202, identify(laptop, 'bob', 'laptop@example.org'));
  expect(await profile('bob')).toMatchObject({ email: 'phone@example.org' });
  const event = { name: 'bought', profileId: 'bob', properties: { __deviceId: ofLaptop } };
  await expectStatus(200, site.send('track', event));
  await expectStatus(200, identify(laptop, 'bob', 'laptop@example.org'));
  expect(await profile('bob')).toMatchObject({ email: 'laptop@example.org' });
});

test('while the owner is away an update is accepted, and dropped when it is back', async () => {
  const ada = newVisitor();
  const eve = newVisitor();
  await expectStatus(200, identify(ada, 'carol', 'carol@example.org'));
  await eventually('the profile', async () =>
    (await profile('carol')).email === 'carol@example.org' ? true : undefined,
  );
  const processor = cluster.process('processor');
  await processor.kill();
  await expectStatus(200, identify(eve, 'carol', 'eve@example.org'));
  await expectStatus(200, identify(ada, 'carol', 'new@example.org'));
  await expectStatus(200, identify(eve, 'carol', 'later@example.org'));
  await processor.start();
  await eventually('the update', async () =>
    (await profile('carol')).email === 'new@example.org' ? true : undefined,
  );
  // Also after a restart the store knows whose profile it is.
  await processor.kill();
  await processor.start();
  await eventually('the rejection', async () =>
    (await identify(eve, 'carol', 'eve@example.org')).status === 202 ? true : undefined,
  );
  await expectStatus(200, identify(ada, 'carol', 'last@example.org'));
});

test('an alias needs a secret, and who erases an attacker does not erase the victim that it tied to itself', async () => {
  const victim = newVisitor();
  const attacker = newVisitor();
  const visit = (send: Send, name: string, profileId: string) =>
    expectStatus(200, send('track', { name, profileId }));
  await visit(victim, 'before', 'victim');
  await expectStatus(200, identify(victim, 'victim', 'victim@example.org'));
  await visit(attacker, 'attack', 'attacker');
  await expectStatus(200, identify(attacker, 'attacker', 'attacker@example.org'));
  await expectStatus(200, site.send('alias', { profileId: 'attacker', alias: 'attacker-2' }));
  const alias = { profileId: 'attacker', alias: 'victim' };
  const { message } = await expectStatus(401, attacker('alias', alias));
  expect(message).toMatch(/secret.*allowUnsafeAliases/);
  await allow({ allowUnsafeAliases: true }, async () => (await attacker('alias', alias)).status === 200);
  await site.eventsOnceThere('event=before&profileId=victim', 1);
  await site.eventsOnceThere('event=attack&profileId=attacker', 1);
  expect(await asRoot('GET', '/manage/projects/demo/aliases?verified=false')).toMatchObject({
    data: [alias],
  });

  const { data } = await asRoot('DELETE', '/manage/projects/demo/profiles/attacker');
  const { id } = data as { readonly id: string };
  const receipt = await eventually('the receipt', async () => {
    const { data: now } = await asRoot('GET', `/manage/projects/demo/erasures/${id}`);
    return (now as { status: string }).status === 'done' ? now : undefined;
  });
  expect(receipt).toMatchObject({ aliasesErased: 1, aliasesUndone: 1 });
  expect(await site.events('event=attack')).toEqual([]);
  expect(await site.events('event=before')).toMatchObject([{ profileId: 'victim' }]);
  expect(await profile('victim')).toMatchObject({ email: 'victim@example.org' });
  expect(await asRoot('GET', '/manage/projects/demo/aliases')).toEqual({ data: [] });
  // From now on the victim's events count as the victim's again.
  await visit(victim, 'after', 'victim');
  await site.eventsOnceThere('event=after&profileId=victim', 1);
});

test('on a site that allows it a browser changes any profile, and an alias is undone by its owner', async () => {
  const dora = newVisitor();
  const eve = newVisitor();
  await expectStatus(200, identify(dora, 'dora', 'dora@example.org'));
  await expectStatus(202, identify(eve, 'dora', 'eve@example.org'));
  await allow(
    { allowUnsafeIdentify: true },
    async () => (await identify(eve, 'dora', 'eve@example.org')).status === 200,
  );
  expect(await profile('dora')).toMatchObject({ email: 'eve@example.org' });
  await expectStatus(200, site.send('alias', { profileId: 'dora', alias: 'anon 1' }));
  await expectStatus(200, site.send('track', { name: 'as-dora', profileId: 'anon 1' }));
  await site.eventsOnceThere('event=as-dora&profileId=dora', 1);
  await asRoot('DELETE', `/manage/projects/demo/aliases/${encodeURIComponent('anon 1')}`);
  await eventually('the alias to be undone', async () => {
    const name = `as-self-${Date.now()}`;
    await expectStatus(200, site.send('track', { name, profileId: 'anon 1' }));
    const [event] = await site.eventsOnceThere(`event=${name}`, 1);
    return event?.profileId === 'anon 1' ? true : undefined;
  });
  expect(await site.events('event=as-dora')).toMatchObject([{ profileId: 'dora' }]);
});
