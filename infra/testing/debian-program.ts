import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../root.ts';

const run = promisify(execFile);

const INSTALL_MAX_MS = 600_000;

/** A program that tests or benchmarks need and npm does not install. */
export interface WantedProgram {
  /** Environment variable that names another path for it. */
  readonly variable: string;
  /** The names under which it may be on the PATH. */
  readonly names: readonly string[];
  /** The package of the distribution that contains it. */
  readonly packageName: string;
  /** The consequence of its absence, for the developer; by default, the tests that need it are skipped. */
  readonly otherwise?: string;
}

/**
 * The path of a program: named by its variable, on the PATH, or installed by root with apt. Undefined, with a printed
 * line, when a developer's machine has none; in CI an error.
 */
export async function findProgram(wanted: WantedProgram): Promise<string | undefined> {
  const found = installedProgram(wanted);
  if (found !== undefined) return found;
  const { variable, packageName } = wanted;
  if (process.getuid?.() === 0 && onPath('apt-get') !== undefined) {
    await install(wanted);
    const installed = installedProgram(wanted);
    if (installed !== undefined) return installed;
  }
  const problem = `No ${packageName} found: set ${variable} to its path or install the package ${packageName}.`;
  if ((process.env.CI ?? '') !== '') throw new Error(problem);
  process.stderr.write(`${problem} ${wanted.otherwise ?? 'The tests that need it are skipped.'}\n`);
  return undefined;
}

/** The path of a program: the one that its variable names, or one on the PATH. */
export function installedProgram({ variable, names }: WantedProgram): string | undefined {
  const named = process.env[variable] ?? '';
  if (named !== '') {
    if (!existsSync(named)) throw new Error(`${variable}: ${named} does not exist`);
    return named;
  }
  return names.map(onPath).find((path) => path !== undefined);
}

/** One test file installs at a time. The lock ends with its process, and those that waited look again. */
async function install({ names: [name = ''], packageName }: WantedProgram): Promise<void> {
  const folder = join(projectRoot, '.cache');
  mkdirSync(folder, { recursive: true });
  // The option waits for another program that uses apt instead of failing.
  const commands = [
    'apt-get update -qq',
    `apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 ${packageName}`,
  ];
  const unlessThere = `command -v ${name} > /dev/null || { ${commands.join(' && ')}; }`;
  process.stderr.write(`Installing ${packageName} for the tests.\n`);
  await run('flock', [join(folder, 'apt.lock'), 'sh', '-c', unlessThere], {
    // In runlevel 1 the package of a server does not start the server.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    timeout: INSTALL_MAX_MS,
    maxBuffer: 64 * 1024 ** 2,
  });
}

function onPath(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/sbin'];
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
