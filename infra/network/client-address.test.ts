import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RequestHead } from '../http/http.ts';
import {
  isPublic,
  limitedAddress,
  normalAddress,
  readAddressClaims,
  senderAddress,
  TrustedProxies,
} from './client-address.ts';

function head(peer: string, headers: Readonly<Record<string, string>>): RequestHead {
  return {
    method: 'POST',
    path: '/track',
    query: '',
    header: (name) => headers[name] ?? '',
    parameter: () => '',
    remoteAddress: () => peer,
  };
}

function addressOf(trusted: string, peer: string, headers: Record<string, string>, claimed: string[] = []) {
  return senderAddress(readAddressClaims(head(peer, headers), new TrustedProxies(trusted)), claimed);
}

test.each([
  ['203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7:8080 ', '203.0.113.7'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
  ['unknown', ''],
  ['_hidden', ''],
  ['', ''],
])('%j is the address %j', (text, address) => {
  expect(normalAddress(text)).toBe(address);
});

test('an IPv4 address is the same in every spelling', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(normalAddress(`::ffff:${address}`)).toBe(address);
      expect(normalAddress(`${address}:80`)).toBe(address);
    }),
  );
});

test('normalizing twice changes nothing, and no text throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.string()), (text) => {
      const address = normalAddress(text);
      expect(normalAddress(address)).toBe(address);
      isPublic(address);
    }),
  );
});

test.each([
  '10.1.2.3',
  '127.0.0.1',
  '192.168.0.1',
  '172.16.9.9',
  '100.64.0.1',
  '169.254.1.1',
  '::1',
  'fd00::1',
  'fe80::1',
  '',
])('%j is not public', (address) => {
  expect(isPublic(address)).toBe(false);
});

test('without a trusted proxy no header changes the address, from any peer', () => {
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'cf-connecting-ip': '203.0.113.8',
    forwarded: 'for=1.1.1.1',
  };
  for (const peer of ['198.51.100.1', '127.0.0.1', '10.0.0.1'])
    expect(addressOf('', peer, headers)).toBe(peer);
});

test.each<[string, Record<string, string>, string]>([
  [
    'the most reliable header takes precedence',
    { 'x-forwarded-for': '8.8.8.8', 'cf-connecting-ip': '1.1.1.1' },
    '1.1.1.1',
  ],
  ['the first of a list', { 'x-forwarded-for': '8.8.8.8, 9.9.9.9' }, '8.8.8.8'],
  ['a private address is skipped', { 'x-real-ip': '10.0.0.9', 'x-forwarded-for': '8.8.8.8' }, '8.8.8.8'],
  ['the standard header', { forwarded: 'proto=https;for="[2001:db8::5]:99", for=8.8.8.8' }, '2001:db8::5'],
  ['an unreadable address is skipped', { 'x-real-ip': 'unknown', forwarded: 'for=_secret' }, '10.0.0.1'],
])('from a trusted proxy: %s', (_, headers, address) => {
  expect(addressOf('10.0.0.0/8', '10.0.0.1', headers)).toBe(address);
  expect(addressOf('any', '10.0.0.1', headers)).toBe(address);
  expect(addressOf('192.0.2.0/24', '10.0.0.1', headers)).toBe('10.0.0.1');
});

test('an authenticated claim takes precedence over the proxy; within one network the first address counts', () => {
  expect(addressOf('any', '10.0.0.1', { 'x-real-ip': '8.8.8.8' }, ['1.1.1.1'])).toBe('1.1.1.1');
  expect(addressOf('', '198.51.100.1', {}, ['10.0.0.5'])).toBe('198.51.100.1');
  expect(addressOf('', '127.0.0.1', {}, ['10.0.0.5'])).toBe('10.0.0.5');
});

test('a claimed address is never the one that limits count by', () => {
  const claims = readAddressClaims(head('198.51.100.1', { 'x-real-ip': '8.8.8.8' }), new TrustedProxies(''));
  expect(limitedAddress(claims)).toBe('198.51.100.1');
});

test.each(['nonsense', '10.0.0.0/33', '10.0.0.0/', '::1/x'])(
  'the setting %j is rejected by name',
  (setting) => {
    expect(() => new TrustedProxies(setting)).toThrow(/TRUSTED_PROXIES/);
  },
);
