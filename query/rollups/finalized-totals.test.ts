import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { Statement, StatementRunner } from '../snapshot/history.ts';
import { FINALIZED_SEAM, NO_SEAM } from '../snapshot/seam.ts';
import { CacheSpace } from './finalized-cache.ts';
import { FinalizedTotals } from './finalized-totals.ts';

const statement = (name: string): Statement => ({ name, parameters: { site: storedId('site') } });
const parts = (key: string) => ({ key, finalized: statement('days'), rows: statement('rows') });

test('days are counted once for each key, without hot rows, and the rest every time', async () => {
  const asked: string[] = [];
  const ask = async ({ name }: Statement, seam: object) => {
    asked.push(name);
    expect(seam).toBe(name === 'days' ? FINALIZED_SEAM : NO_SEAM);
    return [{ events: name === 'days' ? 1_000 : asked.length }];
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
