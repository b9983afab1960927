import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder } from './data-folder.ts';
import { makePrivate } from './private-folder.ts';

const STRANGER = 65_534;
const isRoot = process.geteuid?.() === 0;

let folder = '';
let dataDir = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-modes-'));
  dataDir = join(folder, 'data');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o7777;

/** Makes folders (names that end in a slash) and files with exactly these modes. */
function make(entries: Readonly<Record<string, number>>): void {
  for (const [path, mode] of Object.entries(entries)) {
    if (path.endsWith('/')) mkdirSync(join(folder, path));
    else writeFileSync(join(folder, path), '');
    chmodSync(join(folder, path), mode);
  }
}

test('every right of group and others goes, at any depth, and those of the owner stay', () => {
  make({
    'data/': 0o755,
    'data/a': 0o644,
    'data/b/': 0o2777,
    'data/b/c': 0o755,
    'data/b/d': 0o400,
    'data/e': 0o600,
  });
  expect(makePrivate(dataDir)).toBe(4);
  expect(['data', 'data/a', 'data/b', 'data/b/c', 'data/b/d', 'data/e'].map(modeOf)).toEqual([
    0o700, 0o600, 0o2700, 0o700, 0o400, 0o600,
  ]);
  expect(makePrivate(dataDir)).toBe(0);
});

test('a disk that is attached by a link is closed, and no other link is followed', () => {
  make({
    'data/': 0o755,
    'disk/': 0o755,
    'disk/part': 0o644,
    outside: 0o644,
    'elsewhere/': 0o755,
    'elsewhere/f': 0o644,
  });
  symlinkSync(join(folder, 'disk'), join(dataDir, 'store'));
  symlinkSync(join(folder, 'outside'), join(dataDir, 'file'));
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'disk/below'));
  symlinkSync(join(folder, 'nowhere'), join(dataDir, 'broken'));
  expect(makePrivate(dataDir)).toBe(3);
  expect(['data', 'disk', 'disk/part', 'outside', 'elsewhere', 'elsewhere/f'].map(modeOf)).toEqual([
    0o700, 0o700, 0o600, 0o644, 0o755, 0o644,
  ]);
});

test('a folder is closed before anything is written into it', () => {
  make({ 'data/': 0o777 });
  const { closedFiles, lock } = openDataFolder(dataDir);
  expect([closedFiles, modeOf('data')]).toEqual([1, 0o700]);
  lock.release();
});

test('a folder with files of something else is rejected, and its modes stay', () => {
  make({ 'data/': 0o755, 'data/thesis.txt': 0o644 });
  expect(() => openDataFolder(dataDir)).toThrow('contains other files (thesis.txt)');
  expect([modeOf('data'), modeOf('data/thesis.txt')]).toEqual([0o755, 0o644]);
});

/** The error that opening the data folder as another user throws. */
function messageAsStranger(): string {
  const { outputFiles } = buildSync({
    stdin: {
      contents: `import { openDataFolder } from './data-folder.ts';
try { openDataFolder(${JSON.stringify(dataDir)}); } catch (error) { process.stdout.write(error.name + ': ' + error.message); }`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', outputFiles[0]?.text ?? ''],
    { uid: STRANGER, gid: STRANGER, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return stdout;
}

// Only root can give files to another user.
test.skipIf(!isRoot)('a folder of another user that is open is refused, and nothing is written', () => {
  chmodSync(folder, 0o755);
  make({ 'data/': 0o777 });
  expect(messageAsStranger()).toMatch(
    /^Problem: \S+\/data is open to other users of this machine \(mode 777\) and cannot be closed: another user owns it \(uid 0\)\. [^\n]+\.$/,
  );
  expect(readdirSync(dataDir)).toEqual([]);
});

test.skipIf(!isRoot)('a file of another user in the folder is refused by name', () => {
  chmodSync(folder, 0o755);
  make({ 'data/': 0o700, 'data/logs/': 0o700, 'data/logs/http.log': 0o644 });
  for (const path of ['data', 'data/logs']) chownSync(join(folder, path), STRANGER, STRANGER);
  expect(messageAsStranger()).toMatch(/^Problem: \S+\/logs\/http\.log is open to other users .* \(uid 0\)\./);
});

test('a file system that rejects a change of modes is refused', () => {
  // A folder of this process, with mode 511, on a file system of the kernel.
  expect(() => makePrivate('/proc/self/ns')).toThrow(
    /^\/proc\/self\/ns is open to other users of this machine \(mode 511\) and cannot be closed: its mode cannot be changed \(EPERM\)\. /,
  );
});

/** Mounts a file system without modes, as on a memory stick; undefined where this machine does not allow it. */
function mountWithoutModes(): string | undefined {
  const place = join(folder, 'stick');
  mkdirSync(place);
  const image = join(folder, 'image');
  try {
    execFileSync('truncate', ['-s', '4M', image]);
    execFileSync('mkfs.vfat', [image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop,umask=000', image, place], { stdio: 'ignore' });
    return place;
  } catch {
    return undefined;
  }
}

test('a file system without modes is refused', ({ skip }) => {
  const place = mountWithoutModes();
  if (place === undefined) return skip('needs root, mkfs.vfat and loop devices');
  try {
    mkdirSync(join(place, 'data'));
    expect(() => openDataFolder(join(place, 'data'))).toThrow(
      /its file system has no modes|cannot be changed \(EPERM\)/,
    );
    expect(existsSync(join(place, 'data/secrets.json'))).toBe(false);
  } finally {
    execFileSync('umount', [place]);
  }
});
