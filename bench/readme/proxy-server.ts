import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { WantedProgram } from '../../infra/testing/debian-program.ts';
import { OwnProcess } from '../cluster/child-process.ts';
import { codeBlock, PROXY_PAGE } from './readme.ts';

/** The address of the service on the page about proxies. */
const SERVICE = '127.0.0.1:3000';

/** Runs one reverse proxy with the lines of that page. */
interface ProxyKind {
  readonly wanted: WantedProgram;
  /** The page's listening address, and the same for a port of the loopback address. */
  readonly listen: readonly [written: string, onPort: (port: number) => string];
  /** The lines around the page's own that complete a file, which needs no root and no other file. */
  configuration(lines: string, folder: string): string;
  arguments(file: string, folder: string): readonly string[];
}

export const PROXIES: Readonly<Record<'nginx' | 'caddy' | 'haproxy', ProxyKind>> = {
  nginx: {
    wanted: { variable: 'NGINX', names: ['nginx'], packageName: 'nginx-light' },
    listen: ['listen 80;', (port) => `listen 127.0.0.1:${port};`],
    configuration: (lines, folder) => `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
${lines}
}
`,
    arguments: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
  caddy: {
    wanted: { variable: 'CADDY', names: ['caddy'], packageName: 'caddy' },
    listen: ['stats.example {', (port) => `http://127.0.0.1:${port} {`],
    configuration: (lines) => `{\n\tadmin off\n}\n${lines}`,
    arguments: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  haproxy: {
    wanted: { variable: 'HAPROXY', names: ['haproxy'], packageName: 'haproxy' },
    listen: ['bind :80', (port) => `bind 127.0.0.1:${port}`],
    configuration: (lines) => lines,
    arguments: (file) => ['-db', '-f', file],
  },
};
export type ProxyName = keyof typeof PROXIES;

/**
 * Starts a reverse proxy with the lines of the page. Only the two addresses in them are replaced: `port` of the loopback
 * address to listen on, and `target` (host and port) as the service.
 */
export async function startProxy(
  name: ProxyName,
  { program, folder, port, target }: { program: string; folder: string; port: number; target: string },
): Promise<OwnProcess> {
  const kind = PROXIES[name];
  const [written, onPort] = kind.listen;
  const lines = replaceOnly(
    replaceOnly(codeBlock(name, '', PROXY_PAGE), SERVICE, target),
    written,
    onPort(port),
  );
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, kind.configuration(lines, folder));
  const proxy = new OwnProcess({
    name,
    command: program,
    args: kind.arguments(file, folder),
    // Caddy writes below its home.
    env: { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
    logPath: join(folder, `${name}.log`),
    isReady: () => listens(port),
  });
  await proxy.start();
  return proxy;
}

function replaceOnly(text: string, written: string, replacement: string): string {
  if (text.split(written).length !== 2) throw new Error(`expected "${written}" once in:\n${text}`);
  return text.replace(written, () => replacement);
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
