import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../infra/root.ts';

const run = promisify(execFile);

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const INSTALL_MAX_MS = 600_000;
/** Waits for another test file or another user of apt instead of failing. */
const INSTALL = [
  'apt-get update -qq',
  'apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 chromium',
].join(' && ');

/**
 * The path of a Chromium: CHROMIUM, one of the usual names on the PATH, or what root can install with apt. Undefined at
 * a desk without one, which is said aloud; in CI that is a failure.
 */
export async function findChromium(): Promise<string | undefined> {
  const found = installedChromium();
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    await install();
    const installed = installedChromium();
    if (installed !== undefined) return installed;
  }
  const problem = 'There is no Chromium: set CHROMIUM to one, or install the package chromium.';
  if ((process.env.CI ?? '') !== '') throw new Error(problem);
  process.stderr.write(`${problem} The tests in a browser are skipped.\n`);
  return undefined;
}

function installedChromium(): string | undefined {
  const named = process.env.CHROMIUM ?? '';
  if (named !== '') {
    if (!existsSync(named)) throw new Error(`CHROMIUM: there is no ${named}`);
    return named;
  }
  return NAMES.map(onPath).find((path) => path !== undefined);
}

/** One test file at a time installs; the lock goes with the process that holds it, and who waited looks again. */
async function install(): Promise<void> {
  const folder = join(projectRoot, '.cache');
  mkdirSync(folder, { recursive: true });
  const unlessThere = `command -v chromium > /dev/null || { ${INSTALL}; }`;
  process.stderr.write('Installing chromium for the tests in a browser.\n');
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
