import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../root.ts';
import { checkHttpLibrary } from './http-library.mjs';
import { isAtLeast, nodeProblem, SUPPORTED_NODES, thisMachine } from './node-version.mjs';

const NEEDS = 'footfall needs Node 24, 22 or 20 (20.11 or newer), but this is Node';
const NO_GLIBC =
  'The HTTP library needs glibc, but this system has another C library. Use a distribution with glibc, such as Debian.';

test.each([
  ['20.11.0', '2.36', ''],
  ['20.20.2', '2.41', ''],
  ['22.0.0', '2.38', ''],
  ['24.21.0', '2.41', ''],
  ['24.21.0', '3.0', ''],
  [
    '24.21.0',
    '2.36',
    'Node 24 needs glibc 2.38 or newer for the HTTP library; this machine has 2.36. Use Node 20, or a newer distribution.',
  ],
  [
    '22.12.0',
    '2.37',
    'Node 22 needs glibc 2.38 or newer for the HTTP library; this machine has 2.37. Use Node 20, or a newer distribution.',
  ],
  [
    '20.20.2',
    '2.17',
    'Node 20 needs glibc 2.27 or newer for the HTTP library; this machine has 2.17. Use a newer distribution.',
  ],
  ['4.9.1', '', `${NEEDS} 4.9.1. Use Node 24, or Node 20 where glibc is older than 2.38.`],
  ['18.20.0', '2.36', `${NEEDS} 18.20.0. Use Node 20, or a newer distribution.`],
  ['20.10.9', '2.41', `${NEEDS} 20.10.9. Use Node 24.`],
  ['21.7.3', '2.41', `${NEEDS} 21.7.3. Use Node 24.`],
  ['25.1.0', '2.36', `${NEEDS} 25.1.0. Use Node 20, or a newer distribution.`],
  ['26.10.0', '2.41', `${NEEDS} 26.10.0. Use Node 24.`],
  ['24.21.0', '', NO_GLIBC],
])('Node %s with glibc "%s": "%s"', (version, glibc, problem) => {
  expect(nodeProblem({ version, platform: 'linux', glibc })).toBe(problem);
});

test('glibc is not required on a platform without it', () => {
  const machine = { version: '24.21.0', platform: 'darwin', glibc: '' };
  expect(nodeProblem(machine)).toBe('');
  expect(nodeProblem({ ...machine, version: '23.0.0' })).toBe(`${NEEDS} 23.0.0. Use Node 24.`);
});

test('this machine can run footfall', () => {
  expect(nodeProblem(thisMachine())).toBe('');
});

test.each(SUPPORTED_NODES)(
  'the HTTP library has a binary for Node $major and glibc $glibc',
  ({ abi, glibc }) => {
    for (const arch of ['x64', 'arm64']) {
      const path = join(projectRoot, `node_modules/uWebSockets.js/uws_linux_${arch}_${abi}.node`);
      const versions = [...readFileSync(path, 'latin1').matchAll(/\0GLIBC_(\d+\.\d+)/g)].map(
        ([, version = '']) => version,
      );
      expect(versions).toContain(glibc);
      expect(versions.filter((version) => !isAtLeast(glibc, version))).toEqual([]);
    }
  },
);

test('package.json names the supported versions', () => {
  const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  const ranges = SUPPORTED_NODES.map(({ major, minor }) => `^${major}.${minor}.0`).reverse();
  expect(engines.node).toBe(ranges.join(' || '));
});

test.each([
  [
    `throw new Error('supports only 1, 2 and 3.\\n\\nError: libc.so.6: version 9 not found\\nRequire stack:')`,
    /^The HTTP library does not load on Node \S+ \(\w+ \w+\): libc\.so\.6: version 9 not found\. See [^\n]+\.$/,
  ],
  [`require('./missing.node')`, /: Cannot find module '\.\/missing\.node'\. See [^\n]+$/],
])('an HTTP library that does not load is reported in one line: %s', (code, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-library-'));
  mkdirSync(join(folder, 'node_modules/uWebSockets.js'), { recursive: true });
  writeFileSync(join(folder, 'node_modules/uWebSockets.js/index.js'), code);
  expect(() => checkHttpLibrary(folder)).toThrow(message);
  rmSync(folder, { recursive: true });
});
