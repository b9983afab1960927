import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { releaseName, unpackPackage } from './debian-package.mjs';
import { probeNatsServer } from './nats-version.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */

/**
 * Unpacks the distribution's nats-server into `cache`. That of the next release runs on older ones all the same: it
 * is a program without libraries of its own.
 * @param {import('./debian-package.mjs').Which} which
 * @param {string} cache
 * @param {(text: string) => void} note
 * @param {string[]} failures
 * @returns {Promise<NatsServer | undefined>}
 */
export async function natsFromPackage(which, cache, note, failures) {
  const release = releaseName(which);
  if (release === undefined) return undefined;
  const label = `package of ${release}`;
  const scratch = join(cache, `scratch-package-${process.pid}`);
  try {
    note(`unpacking the ${label}`);
    const unpacked = await unpackPackage({ name: 'nats-server', which, scratch });
    const program = ['usr/sbin/nats-server', 'usr/bin/nats-server'].find((path) =>
      existsSync(join(unpacked, path)),
    );
    if (program === undefined) throw new Error('the package holds no nats-server');
    const server = await probeNatsServer(join(unpacked, program), `from the ${label}`);
    if (server === undefined) throw new Error('it does not run on this machine');
    return moveToCache(server, cache);
  } catch (error) {
    failures.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {NatsServer} server
 * @param {string} cache
 * @returns {NatsServer}
 */
function moveToCache(server, cache) {
  const folder = join(cache, `nats-server-${server.version}`);
  const path = join(folder, 'nats-server');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  renameSync(server.path, path);
  return { ...server, path };
}
