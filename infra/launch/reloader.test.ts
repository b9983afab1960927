import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isSource, Reloader } from './reloader.ts';

const PATIENCE = { timeout: 60_000 };
let root: string;
let said: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'footfall-reloader-'));
  mkdirSync(join(root, 'src/deep'), { recursive: true });
  writeFileSync(join(root, 'src/deep/a.ts'), '');
  writeFileSync(join(root, 'runs'), '');
  said = [];
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const runs = () => readFileSync(join(root, 'runs'), 'utf8').trim().split('\n');

/** A program that notes its start and the signal that ends it. */
function reloaderOf(program: string): Reloader {
  writeFileSync(join(root, 'program.mjs'), program);
  return new Reloader({
    root,
    folders: ['src'],
    command: [process.execPath, join(root, 'program.mjs')],
    say: (line) => said.push(line),
  });
}

const SERVICE = `import { appendFileSync } from 'node:fs';
const note = (text) => appendFileSync('runs', text + '\\n');
note('start');
const keep = setInterval(() => {}, 1_000);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { note(signal); clearInterval(keep); });`;

test('a program starts anew after a change of a source, once it has drained, and ends with the signal', async () => {
  const reloader = reloaderOf(SERVICE);
  reloader.start();
  await expect.poll(runs, PATIENCE).toEqual(['start']);
  appendFileSync(join(root, 'src/deep/a.test.ts'), '//');
  appendFileSync(join(root, 'src/deep/a.ts'), '//');
  await expect.poll(runs, PATIENCE).toEqual(['start', 'SIGINT', 'start']);
  expect(said).toEqual(['src/deep/a.ts has changed']);
  reloader.stop('SIGTERM');
  expect(await reloader.ended).toBe(0);
  expect(runs()).toEqual(['start', 'SIGINT', 'start', 'SIGTERM']);
});

test('a program that ended by itself starts again after the next change', async () => {
  const reloader = reloaderOf(
    `import { appendFileSync } from 'node:fs'; appendFileSync('runs', 'start\\n'); process.exit(3);`,
  );
  reloader.start();
  await expect
    .poll(() => said, PATIENCE)
    .toEqual(['ended with code 3; it starts again after the next change']);
  writeFileSync(join(root, 'src/deep/b.sql'), 'SELECT 1');
  await expect.poll(runs, PATIENCE).toEqual(['start', 'start']);
  reloader.stop('SIGINT');
  await reloader.ended;
});

test.each([
  ['lane/lane.ts', true],
  ['dashboard/app.tsx', true],
  ['sql/a.sql', true],
  ['lane/lane.test.ts', false],
  ['lane/lane.nats.test.ts', false],
  ['testing/run.ts', false],
  ['lane/README.md', false],
])('a change of %s: %s', (path, isOne) => {
  expect(isSource(path)).toBe(isOne);
});
