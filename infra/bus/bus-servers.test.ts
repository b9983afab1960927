import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { busHosts, connectionOptions, shownServers } from './bus-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'footfall-bus-servers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const NO_FILES = { NATS_CA_FILE: '', NATS_CERT_FILE: '', NATS_KEY_FILE: '', NATS_CREDENTIALS_FILE: '' };

test('several servers are separated by commas, and share one login', () => {
  const url = 'nats://us%40er:p%2Fw@one, nats://two:4223,nats://us%40er:p%2Fw@[::1]:4224';
  expect(connectionOptions({ url })).toEqual({
    servers: ['one:4222', 'two:4223', '[::1]:4224'],
    user: 'us@er',
    pass: 'p/w',
    inboxPrefix: '_INBOX.us_er',
    ignoreClusterUpdates: false,
  });
  expect(shownServers(url)).toBe('one:4222, two:4223, [::1]:4224');
  expect(busHosts(url)).toEqual(['one', 'two', '[::1]']);
});

test('a single server may be a proxy, so the addresses that it announces are not used', () => {
  expect(connectionOptions({ url: 'nats://one' })).toEqual({
    servers: ['one:4222'],
    ignoreClusterUpdates: true,
  });
});

test('a user without a password is a token', () => {
  expect(connectionOptions({ url: 'nats://s3cret@one' })).toMatchObject({ token: 's3cret' });
});

test('tls:// needs TLS, with the certificates that are set', () => {
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, 'authority');
  expect(connectionOptions({ url: 'tls://one' }).tls).toEqual({});
  expect(connectionOptions({ url: 'tls://one', files: { ...NO_FILES, NATS_CA_FILE: ca } }).tls).toEqual({
    ca: 'authority',
  });
  expect(connectionOptions({ url: 'nats://one' }).tls).toBeUndefined();
});

test.each([
  ['one:4222', /^NATS_URL: expected a URL/],
  ['nats://one,', /^NATS_URL: expected a URL/],
  ['http://one', /^NATS_URL: expected a URL/],
  ['nats://one,tls://two', /^NATS_URL: expected tls:\/\/ for all servers or for none$/],
  ['nats://a:secret@one,nats://a:other@two', /^NATS_URL: expected the same user and password/],
])('%s is rejected without showing a password', (url, problem) => {
  expect(() => connectionOptions({ url })).toThrow(problem);
  expect(() => connectionOptions({ url })).not.toThrow(/secret|other/);
});

test.each([
  [{ NATS_CA_FILE: join(folder, 'none') }, /^NATS_CA_FILE: .*none cannot be read \(ENOENT\)$/],
  [{ NATS_CERT_FILE: join(folder, 'none') }, /^NATS_KEY_FILE: needed/],
  [{ NATS_KEY_FILE: join(folder, 'none') }, /^NATS_CERT_FILE: needed/],
  [{ NATS_CREDENTIALS_FILE: join(folder, 'none') }, /^NATS_CREDENTIALS_FILE: .* cannot be read/],
])('files that cannot be used are named: %j', (files, problem) => {
  expect(() => connectionOptions({ url: 'tls://one', files: { ...NO_FILES, ...files } })).toThrow(problem);
});
