import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, runCommand } from './commands.mjs';
import { probeNatsServer } from './nats-version.mjs';

/** @typedef {import('./nats-version.mjs').NatsServer} NatsServer */
/** @typedef {{ readonly uri: string, readonly suite: string, readonly component: string }} Source */

// Debian releases whose nats-server is older than 2.10, and the release whose package runs on them all the same: it
// is a program without libraries of its own.
const OLDER_SUITES = ['bullseye', 'bookworm'];
const NEXT_SUITE = 'trixie';
const APT_MS = 180_000;

/**
 * Unpacks the distribution's package into `cache`, without root: apt works in folders of its own, fed from the
 * machine's mirror and checked against the machine's keyring. `which` is the next release of the distribution (for
 * one that has only an old nats-server) or the machine's own.
 * @param {'next' | 'own'} which
 * @param {string} cache
 * @param {(text: string) => void} note
 * @param {string[]} failures
 * @returns {Promise<NatsServer | undefined>}
 */
export async function natsFromPackage(which, cache, note, failures) {
  const system = readSystem();
  const label = `package of ${which === 'next' ? NEXT_SUITE : system.suite || 'the distribution'}`;
  if (which === 'next' && !(system.id === 'debian' && OLDER_SUITES.includes(system.suite))) return undefined;
  const scratch = join(cache, `scratch-package-${process.pid}`);
  try {
    note(`unpacking the ${label}`);
    for (const folder of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
      mkdirSync(join(scratch, folder), { recursive: true });
    }
    const sources = sourcesFor(which, await machineSources(), system.suite);
    if (sources.length === 0) throw new Error('this machine has no apt sources to take it from');
    return await unpackPackage({ sources, keyring: keyringOf(system.id), scratch, cache, label });
  } catch (error) {
    failures.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {{ sources: readonly Source[], keyring: string, scratch: string, cache: string, label: string }} job
 * @returns {Promise<NatsServer>}
 */
async function unpackPackage({ sources, keyring, scratch, cache, label }) {
  writeFileSync(join(scratch, 'sources.list'), sourceLines(sources, keyring));
  await apt(scratch, ['update']);
  await apt(scratch, ['download', 'nats-server']);
  const file = readdirSync(scratch).find((name) => name.endsWith('.deb'));
  if (file === undefined) throw new Error('apt fetched nothing');
  const unpacked = join(scratch, 'unpacked');
  const result = await runCommand('dpkg-deb', ['-x', join(scratch, file), unpacked], { timeoutMs: APT_MS });
  if (result.code !== 0) throw new Error(`dpkg-deb: ${lastLines(result.output, 1)}`);
  const program = ['usr/sbin/nats-server', 'usr/bin/nats-server'].find((path) =>
    existsSync(join(unpacked, path)),
  );
  if (program === undefined) throw new Error('the package holds no nats-server');
  const server = await probeNatsServer(join(unpacked, program), `from the ${label}`);
  if (server === undefined) throw new Error('it does not run on this machine');
  return moveToCache(server, cache);
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

/**
 * apt in private folders. Signatures are checked as always: the sources name the keyring, nothing is allowed.
 * @param {string} scratch
 * @param {readonly string[]} command
 */
async function apt(scratch, command) {
  const options = [
    `Dir::State=${join(scratch, 'state')}`,
    `Dir::State::status=/dev/null`,
    `Dir::Cache=${join(scratch, 'cache')}`,
    `Dir::Etc::sourcelist=${join(scratch, 'sources.list')}`,
    'Dir::Etc::sourceparts=/dev/null',
    'Dir::Etc::preferencesparts=/dev/null',
    'Acquire::Languages=none',
    'Acquire::Retries=1',
    'Acquire::http::Timeout=10',
    'Acquire::https::Timeout=10',
    // Its list must hold every source or none: half a list would look like "no such package".
    'APT::Update::Error-Mode=any',
  ];
  // As root, apt hands the fetching to a user who may not be able to enter this project's folder.
  if (process.getuid?.() === 0) options.push('APT::Sandbox::User=root');
  const args = [...options.flatMap((option) => ['-o', option]), '-q', ...command];
  const result = await runCommand('apt-get', args, { cwd: scratch, timeoutMs: APT_MS });
  if (result.code !== 0)
    throw new Error(`apt-get ${command[0]}: ${lastLines(result.output, 1) || 'timed out'}`);
}

/**
 * The machine's own package sources, whatever the format of their files, as apt itself understands them.
 * @returns {Promise<Source[]>}
 */
async function machineSources() {
  const format = '$(REPO_URI)|$(RELEASE)|$(COMPONENT)';
  const result = await runCommand('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  if (result.code !== 0) throw new Error('there is no apt-get here');
  return parseIndexTargets(result.output);
}

/**
 * @param {string} output lines of `uri|suite|component`
 * @returns {Source[]}
 */
export function parseIndexTargets(output) {
  const lines = [...new Set(output.split('\n').map((line) => line.trim()))];
  return lines.flatMap((line) => {
    const [uri, suite, component] = line.split('|');
    return uri && suite && component ? [{ uri, suite, component }] : [];
  });
}

/**
 * The sources to ask: the machine's own for its suite, or the same mirror with the next suite in its place.
 * @param {'next' | 'own'} which
 * @param {readonly Source[]} machine
 * @param {string} suite of the machine
 * @returns {Source[]}
 */
export function sourcesFor(which, machine, suite) {
  const own = machine.filter((source) => source.suite === suite);
  if (which === 'own') return own;
  return own
    .filter((source) => source.component === 'main')
    .map((source) => ({ ...source, suite: NEXT_SUITE }));
}

/**
 * @param {readonly Source[]} sources
 * @param {string} keyring
 */
export function sourceLines(sources, keyring) {
  return sources
    .map(({ uri, suite, component }) => `deb [signed-by=${keyring}] ${uri} ${suite} ${component}\n`)
    .join('');
}

/** @param {string} id of the distribution */
function keyringOf(id) {
  const path = `/usr/share/keyrings/${id}-archive-keyring.gpg`;
  if (!existsSync(path)) throw new Error(`there is no ${path} to check signatures with`);
  return path;
}

/** @returns {{ id: string, suite: string }} empty texts where it cannot be known */
function readSystem() {
  try {
    return parseOsRelease(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return { id: '', suite: '' };
  }
}

/** @param {string} text */
export function parseOsRelease(text) {
  const value = (/** @type {string} */ name) =>
    new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? '';
  return { id: value('ID'), suite: value('VERSION_CODENAME') };
}
