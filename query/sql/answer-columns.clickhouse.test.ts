import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutHotParts } from '../snapshot/seam.ts';
import { readStatements, withTexts } from '../snapshot/statement-texts.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { MADE_STATEMENTS } from './made-statements.ts';
import { ANSWER_COLUMNS } from './testing/answer-columns.ts';

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(() => fixture.stop());

/** A value for a parameter: only columns are asked for. */
function sampleOf(type: string): unknown {
  if (type.startsWith('Array')) return type === 'Array(String)' ? [] : [1];
  if (type === 'String') return '';
  return type === 'Date' ? '2026-01-01' : 1;
}

async function columnsOf(name: string, text: string): Promise<string> {
  const columns = name.startsWith('search-console') ? 'query' : "'' AS prefix, country AS name";
  const made = withTexts(withoutHotParts(text), { columns, rollupTable: 'daily_places' });
  const sql = made.replace(/\nSETTINGS [^\n]*$/, '');
  const parameters = Object.fromEntries(
    [...sql.matchAll(/\{(\w+):([^}]+)\}/g)].map(([, parameter = '', type = '']) => [
      parameter,
      sampleOf(type),
    ]),
  );
  const found = await fixture.store.query<{ name: string; type: string }>(`DESCRIBE (${sql})`, parameters);
  return found.map((column) => `${column.name} ${column.type}`).join(', ');
}

test('the answers of made statements have these columns, and no other is sent', async () => {
  const texts = readStatements();
  const found: Record<string, string> = {};
  for (const name of Object.keys(MADE_STATEMENTS)) found[name] = await columnsOf(name, texts.get(name) ?? '');
  expect(found).toEqual(ANSWER_COLUMNS);
});
