import { connect, createServer } from 'node:net';
import { Problem } from './problem.mjs';

/** Throws a `Problem`, which names the setting, unless this process can listen on the port. */
export async function checkPort(host: string, port: number, setting = 'PORT'): Promise<void> {
  const code = await tryToListen(host, port).then(
    () => '',
    (error) => error.code,
  );
  if (code === '') return;
  if (code === 'EADDRINUSE') {
    throw new Problem(
      `Port ${port} on ${host} is in use. Stop the program that uses it, or set ${setting} to another port.`,
    );
  }
  if (code === 'EACCES') {
    throw new Problem(
      `Port ${port} needs more privileges than this user has. Set ${setting} to a port above 1023.`,
    );
  }
  throw new Problem(
    `HOST is "${host}", but this machine cannot listen there (${code}). Set HOST to 127.0.0.1.`,
  );
}

// Below the port range of outgoing connections: one of those could take the port of a part while it restarts.
const FREE_FIRST = 10_000;
const FREE_LAST = 32_000;
const FREE_TRIES = 100;
const GREETING_MAX = 65_536;

/** A port that was free a moment ago. */
export async function freePort(host: string): Promise<number> {
  for (let tries = 0; tries < FREE_TRIES; tries += 1) {
    const port = FREE_FIRST + Math.floor(Math.random() * (FREE_LAST - FREE_FIRST));
    try {
      return await tryToListen(host, port);
    } catch {
      // In use or not permitted; try the next one.
    }
  }
  return tryToListen(host, 0);
}

/** Different ports that were free a moment ago. */
export async function freePorts(host: string, count: number): Promise<number[]> {
  const ports: Set<number> = new Set();
  while (ports.size < count) ports.add(await freePort(host));
  return [...ports];
}

function tryToListen(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => resolve(bound));
    });
  });
}

/** True if a nats-server answers at this address. */
export async function greetsAsNats(host: string, port: number, waitMs: number): Promise<boolean> {
  return (await natsGreeting(host, port, waitMs)) !== undefined;
}

/**
 * The greeting of a nats-server: it speaks first, with a line of `INFO` and JSON. Undefined where none does in time; empty when the line
 * is not whole.
 */
export function natsGreeting(
  host: string,
  port: number,
  waitMs: number,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let text = '';
    const finish = () => {
      socket.destroy();
      resolve(text.startsWith('INFO ') ? jsonObject(text.slice('INFO '.length)) : undefined);
    };
    socket.setTimeout(waitMs, finish);
    socket.once('error', finish);
    socket.once('close', finish);
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (text.includes('\n') || !'INFO '.startsWith(text.slice(0, 5)) || text.length > GREETING_MAX)
        finish();
    });
  });
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
