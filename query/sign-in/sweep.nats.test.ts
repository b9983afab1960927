import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from '../../infra/accounts/accounts.ts';
import { createSignInLink, LINK_AGE_MAX_MS, LINK_PREFIX } from '../../infra/accounts/sign-in-links.ts';
import { must } from '../../infra/assert.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { Catalog } from '../manage/catalog.ts';
import { type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { Holders } from './holders.ts';
import { SignInLinks } from './sign-in-links.ts';
import { IDLE_MAX_MS, RENEW_AFTER_MS, SIGN_IN_PREFIX } from './sign-in-record.ts';
import { SIGN_INS_OF_HOLDER_MAX, SignIns } from './sign-ins.ts';

const log = createLogger('test', 'silent');

let service: ManageService;
let accounts: Accounts;
let holders: Holders;
let catalog: Catalog;

beforeAll(async () => {
  service = await startManageService(['team', 'many', 'few']);
  accounts = await Accounts.open(service.bus, log);
  catalog = await Catalog.open(service.bus, log);
  holders = new Holders({ accounts, users: catalog.users });
});
afterAll(async () => {
  accounts.stop();
  catalog.stop();
  await service.stop();
});

const open = () => {
  const { bus, clock } = service;
  return SignIns.open({ bus, clock, log, metrics: new Metrics(), holders });
};
const storedUnder = async (prefix: string) =>
  (await service.control.keys()).filter((key) => key.startsWith(prefix)).length;

/** Waits until a client is known here, and returns it as the holder of sign-ins. */
async function holderOf(id: string) {
  const holder = { kind: 'client' as const, id };
  await expect.poll(() => holders.fingerprintOf(holder)).toBeDefined();
  return { holder, fingerprint: must(holders.fingerprintOf(holder), 'the client is known') };
}

test('the records of sign-ins that are over are removed, and no others', async () => {
  const root = must(service.roots.team, 'the team has a root client');
  const site = await service.makeSite(root, 'Shop');
  const doomed = await service.makeClient(root, { type: 'read', projectId: site.id });
  const [lasting, ending] = [await holderOf(root.id), await holderOf(doomed.id)];
  const signIns = await open();
  await signIns.begin(lasting.holder, lasting.fingerprint);
  service.clock.advance(IDLE_MAX_MS);
  const token = await signIns.begin(lasting.holder, lasting.fingerprint);
  await signIns.begin(ending.holder, ending.fingerprint);
  await expect.poll(() => signIns.stored).toBe(3);
  await signIns.sweep();
  expect(await storedUnder(SIGN_IN_PREFIX)).toBe(3);
  service.clock.advance(RENEW_AFTER_MS);
  await signIns.sweep();
  expect(await storedUnder(SIGN_IN_PREFIX)).toBe(2);
  await service.ask(root, 'DELETE', `/manage/clients/${doomed.id}`);
  await expect.poll(() => holders.fingerprintOf(ending.holder)).toBeUndefined();
  service.clock.advance(1);
  await signIns.sweep();
  expect(await storedUnder(SIGN_IN_PREFIX)).toBe(1);
  expect((await signIns.use(token, true))?.caller.id).toBe(root.id);
  signIns.stop();
});

test('sign-ins beyond the number of a holder, which processes made at once, are removed', async () => {
  const root = must(service.roots.team, 'the team has a root client');
  const { holder, fingerprint } = await holderOf(root.id);
  const [one, other] = [await open(), await open()];
  await Promise.all(
    [one, other].flatMap((each) =>
      Array.from({ length: SIGN_INS_OF_HOLDER_MAX }, () => each.begin(holder, fingerprint)),
    ),
  );
  await expect.poll(() => one.stored).toBe(await storedUnder(SIGN_IN_PREFIX));
  await one.sweep();
  expect(await storedUnder(SIGN_IN_PREFIX)).toBe(SIGN_INS_OF_HOLDER_MAX);
  one.stop();
  other.stop();
});

test('the records of links that nobody used are removed', async () => {
  const { bus, clock, control } = service;
  const client = must([...accounts.clients.entries()][0], 'there is a client').value;
  const links = await SignInLinks.open({ bus, clock, log });
  await createSignInLink(control, client, clock.nowMs());
  clock.advance(LINK_AGE_MAX_MS - 1);
  await createSignInLink(control, client, clock.nowMs());
  await expect.poll(() => links.stored).toBe(2);
  await links.sweep();
  expect(await storedUnder(LINK_PREFIX)).toBe(2);
  clock.advance(1);
  await links.sweep();
  expect(await storedUnder(LINK_PREFIX)).toBe(1);
  links.stop();
});

test('a team has a limit of sign-ins over all its clients, and the next one ends its oldest', async () => {
  const [root, other] = [must(service.roots.many, 'many'), must(service.roots.few, 'few')];
  const signIns = await SignIns.open({
    bus: service.bus,
    clock: service.clock,
    log,
    metrics: new Metrics(),
    holders,
    ofTeamMax: 3,
  });
  const before = signIns.stored;
  const second = await service.makeClient(root, { type: 'root', projectId: null });
  const clients = [await holderOf(root.id), await holderOf(second.id)];
  const foreign = await holderOf(other.id);
  const elsewhere = await signIns.begin(foreign.holder, foreign.fingerprint);
  const tokens: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const { holder, fingerprint } = must(clients[count % 2], 'one of two');
    tokens.push(await signIns.begin(holder, fingerprint));
    service.clock.advance(1);
    await expect.poll(() => signIns.stored).toBe(before + 1 + Math.min(3, count + 1));
  }
  const used = await Promise.all(tokens.map((token) => signIns.use(token, true)));
  expect(used.map((one) => one !== undefined)).toEqual([false, false, false, true, true, true]);
  expect(await signIns.use(elsewhere, true)).toBeDefined();
  signIns.stop();
});
