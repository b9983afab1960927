import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, NO_SEAM } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { CacheSpace } from './finalized-cache.ts';
import { FinalizedTotals } from './finalized-totals.ts';

const NAME = 'event-total-rollup';
type Total = Statement<typeof NAME>;
const statement = (part: string): Total => ({ name: NAME, parameters: { site: storedId('site'), part } });
const parts = (key: string) => ({ key, finalized: statement('days'), rows: statement('rows') });

test('days are counted once for each key, without hot rows, and the rest every time', async () => {
  const asked: string[] = [];
  const ask = async ({ parameters: { part } }: Statement, seam: object) => {
    asked.push(String(part));
    expect(seam).toBe(part === 'days' ? FINALIZED_SEAM : NO_SEAM);
    return [{ events: part === 'days' ? 1_000 : asked.length }];
  };
  const history = { ask: ask as StatementRunner['ask'] };
  const space = new CacheSpace(1_000_000);
  const totals = new FinalizedTotals(space);
  expect(await totals.ask(history, parts('site one'), NO_SEAM)).toBe(1_002);
  expect(await totals.ask(history, parts('site one'), NO_SEAM)).toBe(1_003);
  expect(await totals.ask(history, parts('site two'), NO_SEAM)).toBe(1_005);
  expect(asked).toEqual(['days', 'rows', 'rows', 'days', 'rows']);
  space.evict(storedId('site'));
  await totals.ask(history, parts('site one'), NO_SEAM);
  expect(asked.slice(-2)).toEqual(['days', 'rows']);
});
