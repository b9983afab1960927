import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { must } from '../../infra/assert.ts';
import { shareCreated } from '../manage/share-api.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { userAnswer } from '../manage/user-api.ts';
import { GUESSES } from './guesses.ts';
import { type BrowserAnswer, CookieBrowser, SAME_ORIGIN } from './testing/cookie-browser.ts';

// Each flood fills the queue of hashes before a person asks, and that person is answered while the flood still waits.

const PASSPHRASE = 'four words are enough';
const EMAIL = 'ada@shop.example';
const NETWORKS = 60;
/** A hash takes some 100 ms, and seconds on a crowded machine. */
const POLL = { timeout: 60_000 };

let service: ManageService;
let root: ClientKey;
let url = '';

beforeAll(async () => {
  service = await startManageService(['team'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Shop');
  url = await service.serve();
  const body = { name: 'Ada', email: EMAIL, role: 'root', passphrase: PASSPHRASE };
  await service.read(userAnswer, root, 'POST', '/manage/users', { body });
  await vi.waitFor(async () => expect((await signIn('203.0.113.1')).status).toBe(200), POLL);
});
beforeEach(() => service.clock.advance(GUESSES.windowMs));
afterAll(() => service.stop());

const from = (address: string) => ({ ...SAME_ORIGIN, 'x-forwarded-for': address });

const signIn = (address: string, browser = new CookieBrowser(url), passphrase = PASSPHRASE) =>
  browser.ask('POST', '/sign-in', { body: { email: EMAIL, passphrase }, headers: from(address) });

interface Flood {
  /** Number of answers so far. */
  readonly answered: () => number;
  readonly all: Promise<readonly BrowserAnswer[]>;
}

/** Sends wrong passphrases from many networks concurrently; resolves when the first is answered with 503. */
async function flood(
  addressOf: (network: number) => string,
  guess: (address: string) => Promise<BrowserAnswer>,
): Promise<Flood> {
  let answered = 0;
  let full = () => {};
  const isFull = new Promise<void>((resolve) => {
    full = resolve;
  });
  const asked = Array.from({ length: NETWORKS * 2 }, async (_, index) => {
    const answer = await guess(addressOf(index % NETWORKS));
    answered += 1;
    if (answer.status === 503) full();
    return answer;
  });
  await isFull;
  return { answered: () => answered, all: Promise.all(asked) };
}

const wrong = (address: string) => signIn(address, undefined, 'wrong words again');
const statusesOf = async ({ all }: Flood) => new Set((await all).map(({ status }) => status));

test('a flood from sixty networks of one customer leaves the sign-in open to all others', async () => {
  const flooding = await flood((network) => `2001:db8:7:${network.toString(16)}::1`, wrong);
  expect((await signIn('203.0.113.2')).status).toBe(200);
  expect(flooding.answered()).toBeLessThan(NETWORKS * 2);
  expect(await statusesOf(flooding)).toEqual(new Set([401, 503]));
});

test('a browser that signed in before goes first, however many customers flood', async () => {
  const browser = new CookieBrowser(url);
  expect((await signIn('203.0.113.3', browser)).status).toBe(200);
  await browser.ask('POST', '/sign-out');
  const flooding = await flood((network) => `2001:db8:${(network + 16).toString(16)}::1`, wrong);
  expect((await signIn('2001:db8:ffff::1', browser)).status).toBe(200);
  expect(flooding.answered()).toBeLessThan(NETWORKS * 2);
  await flooding.all;
});

test('a flood on the passphrase of a shared link leaves the sign-in open, and the reverse', async () => {
  const body = { projectId: 'shop', name: 'Agency', passphrase: PASSPHRASE };
  const { data } = await service.read(shareCreated, root, 'POST', '/manage/shares', { body });
  const open = (address: string, passphrase: string) =>
    new CookieBrowser(url).ask('POST', `/shared/${data.token}/open`, {
      body: { passphrase },
      headers: from(address),
    });
  await expect.poll(async () => (await open('203.0.113.4', PASSPHRASE)).status, POLL).toBe(200);
  const customer = (network: number) => `2001:db8:${(network + 256).toString(16)}::1`;
  const onLink = await flood(customer, (address) => open(address, 'wrong words again'));
  expect((await signIn('203.0.113.5')).status).toBe(200);
  expect(onLink.answered()).toBeLessThan(NETWORKS * 2);
  await onLink.all;
  service.clock.advance(GUESSES.windowMs);
  const onUsers = await flood(customer, wrong);
  expect((await open('203.0.113.6', PASSPHRASE)).status).toBe(200);
  expect(onUsers.answered()).toBeLessThan(NETWORKS * 2);
  await onUsers.all;
});

test('guesses at a link leave those at users, and an address that used them up keeps its known browser', async () => {
  const browser = new CookieBrowser(url);
  const office = '203.0.113.30';
  expect((await signIn(office, browser)).status).toBe(200);
  for (let count = 0; count < GUESSES.failuresMax; count += 1) expect((await wrong(office)).status).toBe(401);
  expect((await signIn(office)).status).toBe(429);
  expect((await signIn(office, browser)).status).toBe(200);
  const { cookies } = await signIn(office, browser);
  expect(
    cookies.some((line) => /^footfall-browser=[\w.-]+; Path=\/; .*HttpOnly; SameSite=Strict/.test(line)),
  ).toBe(true);
  // The cookie is bound to its user and to its passphrase.
  const other = await browser.ask('POST', '/sign-in', {
    body: { email: 'other@shop.example', passphrase: PASSPHRASE },
    headers: from(office),
  });
  expect(other.status).toBe(429);
  const { data } = await service.read(userAnswer, root, 'POST', '/manage/users', {
    body: { name: 'Bob', email: 'bob@shop.example', role: 'root', passphrase: PASSPHRASE },
  });
  const bob = { email: 'bob@shop.example', passphrase: PASSPHRASE };
  const ofBob = new CookieBrowser(url);
  const asBob = (passphrase: string) =>
    ofBob.ask('POST', '/sign-in', { body: { ...bob, passphrase }, headers: from(office) });
  await expect
    .poll(
      async () => (await ofBob.ask('POST', '/sign-in', { body: bob, headers: from('203.0.113.31') })).status,
      POLL,
    )
    .toBe(200);
  expect((await asBob(PASSPHRASE)).status).toBe(200);
  const change = { body: { passphrase: 'another four words or so' } };
  await service.ask(root, 'PATCH', `/manage/users/${data.id}`, change);
  await expect.poll(async () => (await asBob(PASSPHRASE)).status, POLL).toBe(429);
  expect((await asBob('another four words or so')).status).toBe(429);
});
