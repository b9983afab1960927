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
  service = await startManageService(['team']);
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
