import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nkeys } from 'nats';
import { afterAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { startSockets } from '../testing/loopback.ts';
import { startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';

const log = createLogger('test', 'silent');
const folder = mkdtempSync(join(tmpdir(), 'footfall-secure-bus-'));
afterAll(() => rmSync(folder, { recursive: true }));

const certificate = (name: string) =>
  fileURLToPath(new URL(`./testing/certificates/${name}.pem`, import.meta.url));
const NO_FILES = { NATS_CA_FILE: '', NATS_CERT_FILE: '', NATS_KEY_FILE: '', NATS_CREDENTIALS_FILE: '' };
const TRUSTING = { ...NO_FILES, NATS_CA_FILE: certificate('authority') };
const KNOWN = {
  ...TRUSTING,
  NATS_CERT_FILE: certificate('client'),
  NATS_KEY_FILE: certificate('client-key'),
};
/** A server that shows its certificate and asks for the client's. */
const TLS = `tls { cert_file: "${certificate('server')}", key_file: "${certificate('server-key')}",
  ca_file: "${certificate('authority')}", verify: true, timeout: 5 }`;

test('over TLS, with a certificate of its own, a client publishes and reads', async () => {
  const nats = await startNatsServer({ config: TLS });
  const url = nats.url.replace('nats:', 'tls:');
  const bus = await Bus.connect({ url, name: 'secure', files: KNOWN }, log);
  await bus.ensureStream('secure', 'secure', 1_048_576);
  expect(await bus.publish('secure', Buffer.from('one'), 5_000)).toBe(1);
  await bus.close();
  // A server whose certificate has no trusted authority, and a client that the server does not know.
  for (const files of [NO_FILES, TRUSTING]) {
    await expect(Bus.connect({ url, name: 'stranger', files }, log)).rejects.toThrow();
  }
  await nats.stop();
});

test('with tls://, nothing of the login reaches a server that cannot do TLS', async () => {
  let received = '';
  const server = await startSockets((socket) => {
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.write('INFO {"server_id":"x","version":"2.10.27","max_payload":1048576,"headers":true}\r\n');
  });
  const url = `tls://user:pass-phrase@127.0.0.1:${server.port}`;
  await expect(Bus.connect({ url, name: 'careful', files: TRUSTING }, log)).rejects.toThrow();
  expect(server.connections).toBeGreaterThan(0);
  expect(received).not.toMatch(/CONNECT|pass-phrase/);
  await server.stop();
});

test('the seed of an nkey signs a client in', async () => {
  const user = nkeys.createUser();
  const file = join(folder, 'user.nk');
  writeFileSync(file, `${new TextDecoder().decode(user.getSeed())}\n`);
  const nats = await startNatsServer({
    config: `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`,
  });
  const files = { ...NO_FILES, NATS_CREDENTIALS_FILE: file };
  const bus = await Bus.connect({ url: nats.url, name: 'signed', files }, log);
  await bus.ensureStream('signed', 'signed', 1_048_576);
  await bus.close();
  await expect(Bus.connect({ url: nats.url, name: 'unsigned' }, log)).rejects.toThrow(/[Aa]uthorization/);
  await nats.stop();
});
