import { connect, createServer } from 'node:net';
import { Problem } from './problem.mjs';

/**
 * Throws a `Problem` unless this process can listen on the port.
 * @param {string} host
 * @param {number} port
 * @param {string} [setting] its name
 */
export async function checkPort(host, port, setting = 'PORT') {
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

/**
 * @param {string} host
 * @returns {Promise<number>} a port that was free a moment ago
 */
export async function freePort(host) {
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

/**
 * @param {string} host
 * @param {number} count
 * @returns {Promise<number[]>} different ports that were free a moment ago
 */
export async function freePorts(host, count) {
  /** @type {Set<number>} */
  const ports = new Set();
  while (ports.size < count) ports.add(await freePort(host));
  return [...ports];
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<number>}
 */
function tryToListen(host, port) {
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

/**
 * True if a nats-server answers at this address.
 * @param {string} host
 * @param {number} port
 * @param {number} waitMs
 * @returns {Promise<boolean>}
 */
export async function greetsAsNats(host, port, waitMs) {
  return (await natsGreeting(host, port, waitMs)) !== undefined;
}

/**
 * The greeting of a nats-server: it speaks first, with a line of `INFO` and JSON. Undefined where none does in time.
 * @param {string} host
 * @param {number} port
 * @param {number} waitMs
 * @returns {Promise<Readonly<Record<string, unknown>> | undefined>} empty when the line is not whole
 */
export function natsGreeting(host, port, waitMs) {
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

/**
 * @param {string} text
 * @returns {Readonly<Record<string, unknown>>}
 */
function jsonObject(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
