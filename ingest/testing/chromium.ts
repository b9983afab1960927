import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../infra/root.ts';

const run = promisify(execFile);

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const INSTALL_MAX_MS = 600_000;
/** Waits for another test file or process that uses apt instead of failing. */
const INSTALL = [
  'apt-get update -qq',
  'apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 chromium',
].join(' && ');

/**
 * The path of a Chromium: CHROMIUM, a usual name on the PATH, or one that root installs with apt. Undefined when a
 * developer's machine has none, which is printed; in CI that is an error.
 */
export async function findChromium(): Promise<string | undefined> {
  const found = installedChromium();
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    await install();
    const installed = installedChromium();
    if (installed !== undefined) return installed;
  }
  const problem = 'No Chromium found: set CHROMIUM to its path or install the package chromium.';
  if ((process.env.CI ?? '') !== '') throw new Error(problem);
  process.stderr.write(`${problem} Browser tests are skipped.\n`);
  return undefined;
}

function installedChromium(): string | undefined {
  const named = process.env.CHROMIUM ?? '';
  if (named !== '') {
    if (!existsSync(named)) throw new Error(`CHROMIUM: ${named} does not exist`);
    return named;
  }
  return NAMES.map(onPath).find((path) => path !== undefined);
}

/** One test file installs at a time. The lock ends with its process, and those that waited look again. */
async function install(): Promise<void> {
  const folder = join(projectRoot, '.cache');
  mkdirSync(folder, { recursive: true });
  const unlessThere = `command -v chromium > /dev/null || { ${INSTALL}; }`;
  process.stderr.write('Installing chromium for the browser tests.\n');
  await run('flock', [join(folder, 'chromium.lock'), 'sh', '-c', unlessThere], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_MAX_MS,
    maxBuffer: 64 * 1024 ** 2,
  });
}

function isOnPath(name: string): boolean {
  return onPath(name) !== undefined;
}

function onPath(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
