import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';

// `npm run demo` and `npm run replay` where there is no service to send to.

let folder = '';
let log = '';
let servers: Server[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-stopped-'));
  log = join(folder, 'access.log');
  writeFileSync(log, '8.8.8.8 - - [30/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla/5.0"\n');
});

afterEach(() => {
  for (const server of servers) server.close();
  servers = [];
  rmSync(folder, { recursive: true, force: true });
});

describe.each(['demo', 'replay'])('%s', (name) => {
  const run = async (...options: readonly string[]) => {
    const program = join(projectRoot, `dist/bench/traffic/${name}.js`);
    const args = [program, ...(name === 'replay' ? [log] : []), ...options];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, DATA_DIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Only for a program that hangs.
      timeout: 60_000,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8');
      });
    }
    const [code] = await once(child, 'close');
    return { code, output };
  };
  const closedPort = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return port;
  };
  const listenWith = async (server: Server) => {
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  test('says that the service of the data folder is stopped, at which address, and how to start it', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    writeCredentials(url);
    expect(await run()).toEqual({
      code: 1,
      output: `footfall does not answer at ${url}: nothing listens there. Start it with \`npm start\`, or name the address of a running one with --url.\n`,
    });
  });

  test('says so of the address in --url', async () => {
    writeCredentials('http://127.0.0.1:3000');
    const url = `http://127.0.0.1:${await closedPort()}`;
    const { code, output } = await run('--url', url);
    expect(code).toBe(1);
    expect(output).toContain(`footfall does not answer at ${url}: nothing listens there.`);
  });

  test('does not wait for a service that takes the connection and never answers', async () => {
    const url = await listenWith(createServer());
    writeCredentials(url);
    const { code, output } = await run();
    expect(code).toBe(1);
    expect(output).toContain(`footfall does not answer at ${url}: `);
    expect(output).toContain('`npm start`');
  });

  test('says that something else answers there', async () => {
    const url = await listenWith(createHttpServer((_request, response) => response.writeHead(404).end('x')));
    writeCredentials(url);
    const { code, output } = await run();
    expect(code).toBe(1);
    expect(output).toContain(`footfall does not answer at ${url}: another program does (404).`);
  });

  test('asks for the local address where the known one is that of a proxy with TLS', async () => {
    writeCredentials('https://stats.example');
    const { code, output } = await run();
    expect(code).toBe(1);
    expect(output).toBe(
      'https://stats.example is not an address of footfall itself, which speaks plain HTTP. Name that one with --url, such as --url http://127.0.0.1:3000.\n',
    );
  });

  test('says that there was no start with this data folder', async () => {
    const { code, output } = await run();
    expect(code).toBe(1);
    expect(output).toBe(
      `There is no ${join(folder, 'credentials.json')}, which the first start writes. Start footfall with \`npm start\`, or set DATA_DIR to the folder of a running one.\n`,
    );
  });

  test('--help lists the options and is no error', async () => {
    const { code, output } = await run('--help');
    expect(code).toBe(0);
    expect(output).toContain(`npm run ${name} -- `);
    expect(output).toContain('--url URL');
  });
});

test('replay --help says how to leave robots out', async () => {
  const child = spawn(process.execPath, [join(projectRoot, 'dist/bench/traffic/replay.js'), '--help']);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  await once(child, 'close');
  expect(output).toMatch(/^ {2}--without-robots /m);
});

function writeCredentials(baseUrl: string): void {
  const client = { id: '00000000-0000-4000-8000-000000000000', secret: `sec_${'0'.repeat(40)}` };
  const clients = { root: client, read: client, write: client };
  writeFileSync(
    join(folder, 'credentials.json'),
    JSON.stringify({ baseUrl, projectId: 'demo', teamId: 'team', clients }),
  );
}
