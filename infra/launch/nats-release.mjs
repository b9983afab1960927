import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './commands.mjs';
import { probeNatsServer } from './nats-version.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */

const VERSION = '2.10.29';
const RELEASE = `https://github.com/nats-io/nats-server/releases/download/v${VERSION}`;
/**
 * The archives' SHA-256 as the project's own container images pin them. On other platforms the checksum list published
 * beside the archives is used, which only proves that the download is complete.
 * @type {Readonly<Record<string, string>>}
 */
const KNOWN_SHA256 = {
  'linux-amd64': 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
  'linux-arm64': 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
};
// Without a network this must fail soon, because there is another source to try.
const CONNECT_MS = 5_000;
const DOWNLOAD_MS = 180_000;

/**
 * Downloads the official release into `cache`. On failure it adds the reason to `failures`.
 * @param {string} cache
 * @param {(text: string) => void} note
 * @param {string[]} failures
 * @returns {Promise<NatsServer | undefined>}
 */
export async function natsFromRelease(cache, note, failures) {
  const target = targetOf(process.platform, process.arch);
  if (target === undefined) {
    failures.push(`official release: none for ${process.platform} on ${process.arch}`);
    return undefined;
  }
  const scratch = join(cache, `scratch-release-${process.pid}`);
  try {
    note(`downloading nats-server ${VERSION}`);
    mkdirSync(scratch, { recursive: true });
    return await fetchRelease({ target, scratch, cache });
  } catch (error) {
    failures.push(`official release ${VERSION}: ${reasonOf(error)}`);
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {{ target: string, scratch: string, cache: string }} paths
 * @returns {Promise<NatsServer>}
 */
async function fetchRelease({ target, scratch, cache }) {
  const name = `nats-server-v${VERSION}-${target}`;
  const archive = await download(`${RELEASE}/${name}.tar.gz`);
  const expected =
    KNOWN_SHA256[target] ?? checksumOf(`${name}.tar.gz`, await download(`${RELEASE}/SHA256SUMS`));
  const actual = createHash('sha256').update(archive).digest('hex');
  if (actual !== expected) throw new Error(`the archive's SHA-256 is ${actual}, expected ${expected}`);
  writeFileSync(join(scratch, 'archive.tar.gz'), archive);
  const unpacked = await runCommand('tar', ['-xzf', join(scratch, 'archive.tar.gz'), '-C', scratch]);
  if (unpacked.code !== 0) throw new Error(`tar: ${unpacked.output.trim()}`);
  const server = await probeNatsServer(join(scratch, name, 'nats-server'), 'from the official release');
  if (server === undefined) throw new Error('it does not run on this machine');
  const folder = join(cache, `nats-server-${VERSION}`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(join(scratch, name), folder);
  return { ...server, path: join(folder, 'nats-server') };
}

/**
 * @param {string} platform
 * @param {string} arch
 * @returns {string | undefined} as used in the names of the archives
 */
export function targetOf(platform, arch) {
  const archName = { x64: 'amd64', arm64: 'arm64' }[arch];
  if (archName === undefined || (platform !== 'linux' && platform !== 'darwin')) return undefined;
  return `${platform}-${archName}`;
}

/**
 * @param {string} name
 * @param {Buffer} list lines of `<sha256>  <file>`
 */
export function checksumOf(name, list) {
  for (const line of list.toString('utf8').split('\n')) {
    const [checksum, file] = line.trim().split(/\s+\*?/);
    if (file === name && checksum !== undefined) return checksum.toLowerCase();
  }
  throw new Error(`the release's checksum list does not contain ${name}`);
}

/** @param {string} url */
async function download(url) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(new Error(`no answer within ${CONNECT_MS / 1000} s`)), CONNECT_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(new Error('the download took too long')), DOWNLOAD_MS);
    return Buffer.from(await response.arrayBuffer());
  } finally {
    clearTimeout(timer);
  }
}

/** @param {unknown} error */
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
