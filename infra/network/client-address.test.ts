import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RequestHead } from '../http/http.ts';
import {
  isPublic,
  limitedNetwork,
  normalAddress,
  provenAddress,
  readAddressClaims,
  senderAddress,
  TrustedProxies,
} from './client-address.ts';

/** `|` separates the lines of a header. */
function head(peer: string, headers: Readonly<Record<string, string>>): RequestHead {
  return {
    method: 'POST',
    path: '/track',
    query: '',
    header: (name) => headers[name]?.split('|', 1)[0] ?? '',
    headerLines: (name) => headers[name]?.replaceAll('|', ',') ?? '',
    parameter: () => '',
    remoteAddress: () => peer,
  };
}

function proxies(
  trusted: string,
  header = 'x-forwarded-for',
  onIgnored = (_peer: string) => {},
): TrustedProxies {
  return new TrustedProxies({ trusted, header, onIgnored });
}

function addressOf(trusted: string, peer: string, headers: Record<string, string>, claimed: string[] = []) {
  return senderAddress(readAddressClaims(head(peer, headers), proxies(trusted)), claimed);
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

test.each<[string, string, string]>([
  ['the only address', '8.8.8.8', '8.8.8.8'],
  ['the last one: what stands left of it may be made up', '1.1.1.1, 8.8.8.8', '8.8.8.8'],
  ['the last one that is no trusted proxy', '1.1.1.1, 8.8.8.8, 10.0.0.9, 10.0.0.8', '8.8.8.8'],
  ['over all lines of the header', '1.1.1.1|8.8.8.8, 10.0.0.9|10.0.0.8', '8.8.8.8'],
  ['a private address as well', '8.8.8.8, 192.168.1.5', '192.168.1.5'],
  ['the first one when all are trusted', '10.0.0.7, 10.0.0.8', '10.0.0.7'],
  ['the proxy behind a sender that it does not know', '8.8.8.8, unknown, 10.0.0.8', '10.0.0.8'],
  ['the peer when the header says nothing', '', '10.0.0.1'],
])('from a trusted proxy: %s', (_, lines, address) => {
  expect(addressOf('10.0.0.0/8', '10.0.0.1', { 'x-forwarded-for': lines })).toBe(address);
  expect(addressOf('192.0.2.0/24', '10.0.0.1', { 'x-forwarded-for': lines })).toBe('10.0.0.1');
});

test.each<[string, string, string]>([
  ['an entry with a port', '1.1.1.1, 8.8.8.8:4711, 10.0.0.9:80', '8.8.8.8'],
  ['an IPv6 entry in brackets with a port', '1.1.1.1,[2001:DB8::5]:4711,10.0.0.9', '2001:db8::5'],
  ['an IPv6 entry without brackets', '1.1.1.1, 2001:db8:0::5', '2001:db8::5'],
  ['an IPv4 address that came as IPv6', '1.1.1.1, ::ffff:8.8.8.8', '8.8.8.8'],
  ['the peer, as a proxy that writes nothing knows nothing', '1.1.1.1, ', '10.0.0.1'],
  ['the peer, as an empty last line ends the chain', '1.1.1.1|', '10.0.0.1'],
  ['the proxy behind an empty entry', '1.1.1.1,, 10.0.0.8', '10.0.0.8'],
  ['the peer behind a socket without an address', '1.1.1.1, unix:', '10.0.0.1'],
  ['the peer behind brackets that do not end', '1.1.1.1, [2001:db8::5', '10.0.0.1'],
  ['the peer behind text after brackets', '1.1.1.1, [::1]8.8.8.8', '10.0.0.1'],
  ['the last of many lines', '1.1.1.1|2.2.2.2|8.8.8.8', '8.8.8.8'],
])('from a trusted proxy with odd entries: %s', (_, lines, address) => {
  expect(addressOf('10.0.0.0/8', '10.0.0.1', { 'x-forwarded-for': lines })).toBe(address);
});

test('where every proxy is trusted, the first address counts', () => {
  expect(addressOf('any', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 8.8.8.8' })).toBe('1.1.1.1');
});

test.each<[string, string, string]>([
  ['cf-connecting-ip', '8.8.8.8', '8.8.8.8'],
  ['X-Real-IP', '8.8.8.8', '8.8.8.8'],
  ['forwarded', 'for=1.1.1.1, proto=https;for="[2001:db8::5]:99", for=10.0.0.9', '2001:db8::5'],
  ['forwarded', 'for=_secret', '10.0.0.1'],
  ['forwarded', 'For="8.8.8.8:4711";proto=http;by=10.0.0.1', '8.8.8.8'],
  ['forwarded', 'proto=https;host="a;for=9.9.9.9";for=8.8.8.8', '8.8.8.8'],
  ['forwarded', 'for=8.8.8.8;host="a, for=9.9.9.9"', '8.8.8.8'],
  ['forwarded', String.raw`for=8.8.8.8;host="a\", for=9.9.9.9"`, '8.8.8.8'],
  ['forwarded', 'for=9.9.9.9;host="a|for=8.8.8.8', '8.8.8.8'],
  ['forwarded', 'for=9.9.9.9, for="|for="8.8.8.8";host="b"', '8.8.8.8'],
  ['forwarded', 'for=8.8.8.8, host=a', '10.0.0.1'],
  ['service-client-ip', '1.1.1.1|8.8.8.8', '8.8.8.8'],
])('only the named header is read: %s', (name, value, address) => {
  const headers = { 'x-forwarded-for': '9.9.9.9', 'true-client-ip': '9.9.9.9', [name.toLowerCase()]: value };
  const claims = readAddressClaims(head('10.0.0.1', headers), proxies('10.0.0.0/8', name));
  expect(senderAddress(claims, [])).toBe(address);
});

test('a sender that writes any forwarding header cannot choose the address that a trusted proxy reports', () => {
  const forged = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), { maxLength: 5 });
  fc.assert(
    fc.property(forged, fc.boolean(), (entries, isOwnLine) => {
      // The proxy appends to the line that it received, or adds its own line.
      const separator = isOwnLine ? '|' : ', ';
      const lines = [...entries.map((entry) => entry.replaceAll('|', '')), '203.0.113.7'].join(separator);
      const headers = { 'x-forwarded-for': lines, 'x-real-ip': '1.1.1.1', 'cf-connecting-ip': '1.1.1.1' };
      expect(addressOf('10.0.0.0/8', '10.0.0.1', headers)).toBe('203.0.113.7');
    }),
  );
});

test.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-own-proxy'])(
  'an untrusted peer that sends %s is noticed, and any other request is not',
  (name) => {
    const ignored: string[] = [];
    const read = (peer: string, headers: Record<string, string>) =>
      readAddressClaims(
        head(peer, headers),
        proxies('10.0.0.1', 'x-own-proxy', (address) => ignored.push(address)),
      );
    read('192.168.0.1', { 'user-agent': 'x' });
    read('10.0.0.1', { [name]: '8.8.8.8' });
    expect(ignored).toEqual([]);
    read('192.168.0.1', { [name]: '8.8.8.8' });
    expect(ignored).toEqual(['192.168.0.1']);
  },
);

test('an authenticated claim takes precedence over the proxy; within one network the first address counts', () => {
  expect(addressOf('any', '10.0.0.1', { 'x-forwarded-for': '8.8.8.8' }, ['1.1.1.1'])).toBe('1.1.1.1');
  expect(addressOf('', '198.51.100.1', {}, ['10.0.0.5'])).toBe('198.51.100.1');
  expect(addressOf('', '127.0.0.1', {}, ['10.0.0.5'])).toBe('10.0.0.5');
});

test('the peer is read only where it counts, and once', () => {
  let reads = 0;
  const counted = (headers: Record<string, string> = {}) => ({
    ...head('', headers),
    remoteAddress: () => {
      reads += 1;
      return '198.51.100.1';
    },
  });
  expect(senderAddress(readAddressClaims(counted(), proxies('')), ['1.1.1.1'])).toBe('1.1.1.1');
  expect(reads).toBe(0);
  const claims = readAddressClaims(counted(), proxies(''));
  expect(senderAddress(claims, ['10.0.0.5'])).toBe('198.51.100.1');
  expect([claims.peer, provenAddress(claims), reads]).toEqual(['198.51.100.1', '198.51.100.1', 1]);
});

test('a claimed address is never the proven one', () => {
  const claims = readAddressClaims(head('198.51.100.1', { 'x-real-ip': '8.8.8.8' }), proxies(''));
  expect(provenAddress(claims)).toBe('198.51.100.1');
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['', ''],
])('limits count %j by %j', (address, network) => {
  expect(limitedNetwork(address)).toBe(network);
});

test('limits count two IPv6 addresses alike exactly when they share the first 64 bits', () => {
  const groups = (length: number) =>
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: length, maxLength: length });
  fc.assert(
    fc.property(groups(4), groups(4), groups(4), (network, one, other) => {
      const address = (...parts: number[][]) =>
        normalAddress(
          parts
            .flat()
            .map((part) => part.toString(16))
            .join(':'),
        );
      fc.pre(address(network, one).includes(':') && address(network, other).includes(':'));
      expect(limitedNetwork(address(network, one))).toBe(limitedNetwork(address(network, other)));
      const [first = 0, ...rest] = network;
      const next = [first ^ 1, ...rest];
      expect(limitedNetwork(address(next, one))).not.toBe(limitedNetwork(address(network, one)));
    }),
  );
});

test.each(['nonsense', '10.0.0.0/33', '10.0.0.0/', '::1/x'])(
  'the setting %j is rejected by name',
  (setting) => {
    expect(() => proxies(setting)).toThrow(/TRUSTED_PROXIES/);
  },
);

const FULL = 65_000;

test.each([
  ['commas', ','.repeat(FULL)],
  ['quotes', '"'.repeat(FULL)],
  ['backslashes', `"${'\\'.repeat(FULL)}"`],
  ['spaces behind for=', `for=${' '.repeat(FULL)}x y`],
  ['pairs', 'a=b;'.repeat(FULL / 4)],
  ['addresses', '10.0.0.1,'.repeat(FULL / 9)],
])('a header of %s takes time by its length, whichever header it is', (_what, text) => {
  const startedAt = process.cpuUsage();
  for (const name of ['forwarded', 'x-forwarded-for'])
    for (let round = 0; round < 20; round += 1)
      readAddressClaims(head('10.0.0.9', { [name]: text }), proxies('10.0.0.0/8', name));
  // By the square of the length it would be more than half a minute.
  expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(3_000);
});

test('of a header that is too long the end counts, without the entry that the limit cuts', () => {
  const read = (text: string) =>
    provenAddress(readAddressClaims(head('10.0.0.9', { 'x-forwarded-for': text }), proxies('any')));
  const hops = ','.concat(Array.from({ length: 2_000 }, () => '10.0.0.1').join(','));
  // All are trusted, so the first whole one within the limit counts.
  expect(read(`203.0.113.7${hops}`)).toBe('10.0.0.1');
  expect(read(`203.0.113.7,${'1'.repeat(8_190)}`)).toBe('10.0.0.9');
});
