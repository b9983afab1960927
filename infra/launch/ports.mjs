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
 * Whether a nats-server answers at this address: it speaks first, with a line that begins with INFO.
 * @param {string} host
 * @param {number} port
 * @param {number} waitMs
 * @returns {Promise<boolean>}
 */
export function greetsAsNats(host, port, waitMs) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (/** @type {boolean} */ greeted) => {
      socket.destroy();
      resolve(greeted);
    };
    socket.setTimeout(waitMs, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
    socket.once('data', (bytes) => finish(bytes.toString('latin1').startsWith('INFO ')));
  });
}
