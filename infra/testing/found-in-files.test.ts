import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { foundInFiles } from './found-in-files.ts';

const TEXT = 'ada@example.org "x"';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-found-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each<readonly [string, string]>([
  ['as it is', TEXT],
  ['as digits', Buffer.from(TEXT).toString('hex')],
  ['as capital digits', Buffer.from(TEXT).toString('hex').toUpperCase()],
  ['in JSON', JSON.stringify({ id: TEXT })],
  ['in a URL', `/profiles/${encodeURIComponent(TEXT)}`],
  ...['', 'a', 'ab', 'abc'].flatMap((before) =>
    ['', 'c', 'cd', 'cde'].flatMap((after) => {
      const bytes = Buffer.from(before + TEXT + after);
      return [
        [`in base64 after “${before}”, before “${after}”`, bytes.toString('base64')],
        [`in base64url after “${before}”, before “${after}”`, bytes.toString('base64url')],
      ] satisfies [string, string][];
    }),
  ),
])('a text is found %s', (_, content) => {
  mkdirSync(join(folder, 'deep'));
  writeFileSync(join(folder, 'deep', 'file'), `before ${content} after`);
  expect(foundInFiles(folder, [TEXT])).toEqual([`deep/file: ${TEXT}`]);
  expect(foundInFiles(folder, ['another@example.org'])).toEqual([]);
});
