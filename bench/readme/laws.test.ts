import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { COVERED } from '../long/covered.mjs';

// The table of laws in bench/README.md.

interface LawRow {
  readonly law: string;
  readonly inTest: readonly string[];
  readonly inLong: readonly string[];
}

const LAWS_MIN = 25;
const page = readFileSync(join(projectRoot, 'bench/README.md'), 'utf8');
const rows = lawsIn(page);

test('every law has a test that `npm test` runs', () => {
  expect(rows.length).toBeGreaterThanOrEqual(LAWS_MIN);
  expect(rows.filter(({ inTest }) => inTest.length === 0)).toEqual([]);
  expect(rows.flatMap(({ inTest }) => inTest).filter((file) => !isInTest(file))).toEqual([]);
});

test('every test of a law exists', () => {
  const files = rows.flatMap(({ inTest, inLong }) => [...inTest, ...inLong]);
  expect(files.filter((file) => !existsSync(join(projectRoot, file)))).toEqual([]);
});

test('every long test repeats a law', () => {
  const repeated = new Set(rows.flatMap(({ inLong }) => inLong));
  expect([...repeated].sort()).toEqual(Object.keys(COVERED).sort());
});

test('a row without a test of `npm test` is found', () => {
  const text = ['## Laws', '| law | a | b |', '| --- | --- | --- |', '| Once. | | `a.long.test.ts` |'];
  expect(lawsIn(text.join('\n'))).toEqual([{ law: 'Once.', inTest: [], inLong: ['a.long.test.ts'] }]);
  expect(['a.test.ts', 'a.fault.test.ts', 'a.long.test.ts', 'a.ts'].map(isInTest)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

function isInTest(file: string): boolean {
  return file.endsWith('.test.ts') && !file.endsWith('.long.test.ts');
}

/** The rows of the table below the title *Laws*. */
function lawsIn(text: string): readonly LawRow[] {
  const section = text.split(/^## /m).find((part) => part.startsWith('Laws\n')) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const [law = '', inTest = '', inLong = ''] = line.split('|').slice(1, -1);
    return { law: law.trim(), inTest: filesIn(inTest), inLong: filesIn(inLong) };
  });
}

function filesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
}
