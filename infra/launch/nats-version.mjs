import { execFile } from 'node:child_process';

/** @typedef {{ readonly path: string, readonly version: string, readonly from: string }} NatsServer */

/**
 * The version in the output of `nats-server --version`, or undefined.
 * @param {string} output such as `nats-server: v2.10.27`
 * @returns {string | undefined}
 */
export function parseNatsVersion(output) {
  return /nats-server:?\s+v?(\d+\.\d+\.\d+[\w.+-]*)/.exec(output)?.[1];
}

/**
 * @param {string} version
 * @param {readonly [number, number]} least major and minor
 */
export function isAtLeast(version, [leastMajor, leastMinor]) {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/**
 * `sync_interval: always` exists since 2.10: every acknowledged message is on disk, not only in the page cache.
 * @param {string} version
 */
export function canSyncAlways(version) {
  return isAtLeast(version, [2, 10]);
}

/**
 * Runs the program to learn its version; undefined when it does not run or is not a nats-server of 2.9 or later.
 * @param {string} path
 * @param {string} from where it was found, in words
 * @returns {Promise<NatsServer | undefined>}
 */
export async function probeNatsServer(path, from) {
  const output = await new Promise((resolve) => {
    execFile(path, ['--version'], { timeout: 10_000 }, (error, stdout, stderr) =>
      resolve(error === null ? stdout + stderr : ''),
    );
  });
  const version = parseNatsVersion(String(output));
  return version !== undefined && isAtLeast(version, [2, 9]) ? { path, version, from } : undefined;
}
