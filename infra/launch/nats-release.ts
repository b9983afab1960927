import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './commands.mjs';
import { type NatsServer, probeNatsServer } from './nats-version.ts';

const VERSION = '2.10.29';
const RELEASE = `https://github.com/nats-io/nats-server/releases/download/v${VERSION}`;
/**
 * The archives' SHA-256 as the project's own container images pin them. On other platforms the checksum list published
 * beside the archives is used, which only proves that the download is complete.
 */
const KNOWN_SHA256: Readonly<Record<string, string>> = {
  'linux-amd64': 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
  'linux-arm64': 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
};
// Without a network this must fail soon, because there is another source to try.
const CONNECT_MS = 5_000;
const DOWNLOAD_MS = 180_000;

/** Downloads the official release into `cache`. On failure it adds the reason to `failures`. */
export async function natsFromRelease(
  cache: string,
  note: (text: string) => void,
  failures: string[],
): Promise<NatsServer | undefined> {
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

async function fetchRelease({
  target,
  scratch,
  cache,
}: {
  target: string;
  scratch: string;
  cache: string;
}): Promise<NatsServer> {
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

/** The platform like in the names of the archives; undefined when there is no archive for it. */
export function targetOf(platform: string, arch: string): string | undefined {
  const archName = { x64: 'amd64', arm64: 'arm64' }[arch];
  if (archName === undefined || (platform !== 'linux' && platform !== 'darwin')) return undefined;
  return `${platform}-${archName}`;
}

/** `list`: lines of `<sha256>  <file>`. */
export function checksumOf(name: string, list: Buffer): string {
  for (const line of list.toString('utf8').split('\n')) {
    const [checksum, file] = line.trim().split(/\s+\*?/);
    if (file === name && checksum !== undefined) return checksum.toLowerCase();
  }
  throw new Error(`the release's checksum list does not contain ${name}`);
}

async function download(url: string) {
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

function reasonOf(error: unknown) {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
