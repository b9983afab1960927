import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { readStatements } from '../snapshot/statement-texts.ts';

// A sum of Int64 wraps without an error, so money is widened before it is added. The statements of other rooms follow the same rule.
const STATEMENTS = [
  ...readStatements(),
  ...[
    'query/people/profile-list.ts',
    'processor/rollups/rollup-statements.ts',
    'processor/lane/load-state.ts',
  ].map((path) => [path, readFileSync(join(projectRoot, path), 'utf8')] as const),
];

/** A call of an aggregate function that adds, with its arguments. */
const SUM = /\bsum(?:If|Map|MapIf)?\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)/g;
const MONEY = /\b(?:revenue|amount|paid)\b/;
/** Sums of a column that is widened already, at a lower level of the statement or in the rollups. */
const WIDENED = new Set(['sumMap(revenue)']);

const narrowSums = (text: string): string[] =>
  [...text.matchAll(SUM)]
    .map(([sum]) => sum)
    .filter((sum) => MONEY.test(sum) && !sum.includes('Int128') && !WIDENED.has(sum));
const narrowNames = (text: string): string[] =>
  [...text.matchAll(/^.* AS (?:earned|amounts)\b.*$/gm)]
    .map(([line]) => line)
    .filter((line) => !/Int128|sum(?:Map)?\(earned\)|\$\{(?:REVENUE_BY_CURRENCY|NO_AMOUNTS)\}/.test(line));

test.each(STATEMENTS)('%s adds money in 128 bits', (_, text) => {
  expect(narrowSums(text)).toEqual([]);
  expect(narrowNames(text).filter((line) => !line.includes('amount AS earned,'))).toEqual([]);
});

test('a sum in 64 bits is found', () => {
  expect(narrowSums('toString(sum(sign * revenue[{currency:String}])) AS revenue')).toHaveLength(1);
  expect(narrowSums('sumMapIf(map(toString(currency), revenue), revenue != 0)')).toHaveLength(1);
  expect(narrowNames('        state.5 AS earned')).toHaveLength(1);
});
