import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { readTree } from '../../infra/testing/source-tree.ts';
import { touchedTests, UNKNOWN_S, whyLeft } from './choice.mjs';
import { COVERED } from './covered.mjs';

const covered = {
  'bench/one.long.test.ts': ['processor/lane'],
  'bench/two.long.test.ts': ['processor/lane', 'ingest/http'],
  'bench/three.long.test.ts': ['infra/bus'],
};
const ran = (seconds: number) => ({ seconds, result: 'passed' });
const filesOf = (changed: readonly string[], lastRuns = {}) =>
  touchedTests(changed, covered, lastRuns).map(({ file }) => file);

describe('a change touches', () => {
  test.each<[string, string[], string[]]>([
    ['the tests that cover its folder', ['processor/lane/lane.ts'], ['bench/one', 'bench/two']],
    ['a file in a folder inside', ['infra/bus/deep/file.ts'], ['bench/three']],
    ['a test that it changes', ['bench/one.long.test.ts'], ['bench/one']],
    ['none by a folder whose name only begins alike', ['processor/lanes/a.ts', 'infra/bus.ts'], []],
    ['none without files', [], []],
  ])('%s', (_what, changed, names) => {
    expect(filesOf(changed)).toEqual(names.map((name) => `${name}.long.test.ts`));
  });
});

test('the shortest comes first, and those without a last run that passed come last', () => {
  const changed = ['processor/lane/a.ts', 'infra/bus/a.ts'];
  const lastRuns = { 'bench/two.long.test.ts': ran(80), 'bench/three.long.test.ts': ran(20) };
  const [one, two, three] = Object.keys(covered);
  expect(filesOf(changed, lastRuns)).toEqual([three, two, one]);
  const failed = { ...lastRuns, 'bench/three.long.test.ts': { seconds: 1, result: 'failed' } };
  expect(touchedTests(changed, covered, failed)).toEqual([
    { file: two, expectedS: 80, isKnown: true },
    { file: one, expectedS: UNKNOWN_S, isKnown: false },
    { file: three, expectedS: UNKNOWN_S, isKnown: false },
  ]);
});

test('a test starts while its last duration fits into what is left, else it says why not', () => {
  const known = { file: 'a', expectedS: 60, isKnown: true };
  expect(whyLeft(known, 60)).toBeUndefined();
  expect(whyLeft(known, 59.5)).toBe('took 60 s the last time, and 59 s are left');
  expect(whyLeft({ ...known, expectedS: UNKNOWN_S, isKnown: false }, -1)).toBe(
    `has no known duration, so ${UNKNOWN_S} s, and 0 s are left`,
  );
});

describe('this repository', () => {
  const long = [...readTree(projectRoot).keys()].filter((path) => path.endsWith('.long.test.ts')).sort();

  test('says of each long test what it covers, by folders that exist', () => {
    expect(Object.keys(COVERED).sort()).toEqual(long);
    const missing = Object.values(COVERED)
      .flat()
      .filter((folder) => !existsSync(join(projectRoot, folder)));
    expect(missing).toEqual([]);
  });

  test('has the last run of each long test, or says that there was none', () => {
    const text = readFileSync(join(projectRoot, 'bench/results/long-tests.json'), 'utf8');
    const runs = Object.entries<Record<string, unknown>>(JSON.parse(text).files);
    expect(runs.map(([file]) => file).sort()).toEqual(long);
    for (const [file, run] of runs) {
      expect([file, Object.keys(run)]).toEqual([file, ['atIso', 'commit', 'node', 'seconds', 'result']]);
      const isKnown = Object.values(run).map((value) => value !== null);
      expect([file, new Set(isKnown).size]).toEqual([file, 1]);
    }
  });
});
