import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ConfigError } from '../config.ts';
import { checkPort } from './free-port.ts';

const HOST = '127.0.0.1';
const LISTENER = `const server = require('node:net').createServer();
server.listen(0, '${HOST}', () => console.log(server.address().port));`;

let stop = () => {};
afterEach(() => stop());

/** A program that listens on a free port, with this text in its environment. */
async function listenElsewhere(mark: string): Promise<number> {
  const [name = '', value] = mark.split('=');
  const child = spawn(process.execPath, ['-e', LISTENER], {
    env: { [name]: value },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stop = () => void child.kill('SIGKILL');
  const [line] = await once(child.stdout, 'data');
  return Number(line);
}

test('a port that nothing listens on is free', async () => {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  server.close();
  await once(server, 'close');
  await checkPort(HOST, port, '');
  await checkPort(HOST, port, 'GROUP=one');
});

test('a port of another program is refused, for a process with and without a group', async () => {
  const port = await listenElsewhere('GROUP=two');
  for (const mark of ['', 'GROUP=one', 'GROUP=tw', 'GROUP=two2'])
    await expect(checkPort(HOST, port, mark)).rejects.toThrow(ConfigError);
});

test.runIf(process.platform === 'linux')('a port of the same group is shared', async () => {
  const port = await listenElsewhere('GROUP=one');
  await checkPort(HOST, port, 'GROUP=one');
});
