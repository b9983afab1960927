import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, runCommand } from './commands.mjs';

export type AptSource = { readonly uri: string; readonly suite: string; readonly component: string };
/** The release that follows the machine's, or the machine's own */
export type Which = 'next' | 'own';

// Debian releases that take a package from the next release, and the name of that release.
const OLDER_SUITES = ['bullseye', 'bookworm'];
const NEXT_SUITE = 'trixie';
const APT_MS = 180_000;

/** The name of a release of this machine's distribution; undefined when there is no next release to take a package from. */
export function releaseName(which: Which): string | undefined {
  const { id, suite } = readSystem();
  if (which === 'own') return suite || 'the distribution';
  return id === 'debian' && OLDER_SUITES.includes(suite) ? NEXT_SUITE : undefined;
}

/**
 * Unpacks a package into a folder below `scratch`, without root: apt runs on private folders, uses the machine's mirror
 * and checks signatures with the machine's keyring. Returns the folder with the package's files.
 */
export async function unpackPackage({
  name,
  which,
  scratch,
}: {
  name: string;
  which: Which;
  scratch: string;
}): Promise<string> {
  if (releaseName(which) === undefined) throw new Error('no newer release is known for this machine');
  const system = readSystem();
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'unpacked']) {
    mkdirSync(join(scratch, folder), { recursive: true });
  }
  const sources = sourcesFor(which, await machineSources(), system.suite);
  if (sources.length === 0) throw new Error('this machine has no apt source for its release');
  writeFileSync(join(scratch, 'sources.list'), sourceLines(sources, keyringOf(system.id)));
  await apt(scratch, ['update']);
  await apt(scratch, ['download', name]);
  const file = readdirSync(scratch).find((entry) => entry.endsWith('.deb'));
  if (file === undefined) throw new Error('apt downloaded no package');
  const unpacked = join(scratch, 'unpacked');
  const result = await runCommand('dpkg-deb', ['-x', join(scratch, file), unpacked], { timeoutMs: APT_MS });
  if (result.code !== 0) throw new Error(`dpkg-deb: ${lastLines(result.output, 1)}`);
  return unpacked;
}

/** Runs apt on private folders. Signatures are always checked: the sources name the keyring, and no option disables it. */
async function apt(scratch: string, command: readonly string[]) {
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
    // All sources must be read or none: with half a list, a package would look as if it did not exist.
    'APT::Update::Error-Mode=any',
  ];
  // Run by root, apt downloads as another user, who may not have access to this project's folder.
  if (process.getuid?.() === 0) options.push('APT::Sandbox::User=root');
  const args = [...options.flatMap((option) => ['-o', option]), '-q', ...command];
  const result = await runCommand('apt-get', args, { cwd: scratch, timeoutMs: APT_MS });
  if (result.code !== 0)
    throw new Error(`apt-get ${command[0]}: ${lastLines(result.output, 1) || 'timed out'}`);
}

/** The machine's own package sources as apt reads them, whatever the format of their files. */
async function machineSources(): Promise<AptSource[]> {
  const format = '$(REPO_URI)|$(RELEASE)|$(COMPONENT)';
  const result = await runCommand('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  if (result.code !== 0) throw new Error('apt-get is not available');
  return parseIndexTargets(result.output);
}

/** `output`: lines of `uri|suite|component`. */
export function parseIndexTargets(output: string): AptSource[] {
  const lines = [...new Set(output.split('\n').map((line) => line.trim()))];
  return lines.flatMap((line) => {
    const [uri, suite, component] = line.split('|');
    return uri && suite && component ? [{ uri, suite, component }] : [];
  });
}

/**
 * The sources to use: the machine's own for its release, which is `suite`, or the same mirror with the next release.
 */
export function sourcesFor(which: Which, machine: readonly AptSource[], suite: string): AptSource[] {
  const own = machine.filter((source) => source.suite === suite);
  if (which === 'own') return own;
  return own
    .filter((source) => source.component === 'main')
    .map((source) => ({ ...source, suite: NEXT_SUITE }));
}

export function sourceLines(sources: readonly AptSource[], keyring: string): string {
  return sources
    .map(({ uri, suite, component }) => `deb [signed-by=${keyring}] ${uri} ${suite} ${component}\n`)
    .join('');
}

/** `id`: of the distribution. */
function keyringOf(id: string) {
  const path = `/usr/share/keyrings/${id}-archive-keyring.gpg`;
  if (!existsSync(path)) throw new Error(`${path}, which is needed to check signatures, is missing`);
  return path;
}

/** The distribution and its release; empty when unknown. */
function readSystem(): { id: string; suite: string } {
  try {
    return parseOsRelease(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return { id: '', suite: '' };
  }
}

export function parseOsRelease(text: string): { id: string; suite: string } {
  const value = (name: string) => new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? '';
  return { id: value('ID'), suite: value('VERSION_CODENAME') };
}
