import { afterAll, beforeAll, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { EXPORT_GROUPS } from '../../processor/event-export.ts';
import { columnsText } from '../export/columns.ts';
import { LISTED_COLUMNS } from '../insights/session-list.ts';
import { funnelQuery } from '../paths/funnel-api.ts';
import { funnelStatement } from '../paths/funnel-statement.ts';
import { withoutHotParts } from '../snapshot/seam.ts';
import { readStatements, type StatementTexts, withTexts } from '../snapshot/statement-texts.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { ANSWER_ROWS, type Columns, STORE_TYPES, type StatementName } from './answer-rows.ts';
import { MADE_STATEMENTS } from './made-statements.ts';

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(() => fixture.stop());

const names = Object.keys(ANSWER_ROWS) as StatementName[];
/** They answer in bytes. */
const STREAMS = ['export-stream', 'export-stream-profiles', 'held-events', 'held-sessions', 'held-size'];

const EVENTS = { columns: columnsText(EXPORT_GROUPS), order: '1' };
const SESSIONS = { columns: LISTED_COLUMNS };
const SEARCH = { columns: 'query' };
const FUNNEL = funnelStatement(
  funnelQuery.parse({ range: '7d', steps: '[{"name":"a"},{"name":"b"}]' }),
  { site: storedId('shop'), span: { fromMs: 0, toMs: 1 } },
  { reading: 'labelled', limits: { eventsMax: 1, valuesMax: 1, unsureMax: 1 } },
);
/** The texts of statements whose columns the question names; by default a ranking by country. */
const TEXTS: Partial<Record<StatementName, StatementTexts>> = {
  'event-list': EVENTS,
  journey: EVENTS,
  'session-list': SESSIONS,
  'profile-sessions': SESSIONS,
  'profile-states': SESSIONS,
  'search-console-ranking': SEARCH,
  'search-console-opportunities': SEARCH,
  'search-console-cannibalization': SEARCH,
  'export-charts': {
    columns: '[name] AS names, 1 AS isMeasured',
    rows: 'SELECT names, isCurrent, edge FROM measurable',
    figure: 'count()',
  },
  'profile-places': { figure: 'max(seenMs)' },
  'user-flow': { columns: 'path' },
  goals: { goals: '1', sessionGoals: '1' },
  funnel: FUNNEL.texts ?? {},
};
const RANKED = { columns: "'' AS prefix, country AS name", rollupTable: 'daily_places' };

/** A value for a parameter: only columns are asked for. */
function sampleOf(type: string): unknown {
  if (type.startsWith('Array')) return /^Array\((?:String|Array)/.test(type) ? [] : [1];
  if (type === 'String') return '';
  return type === 'Date' ? '2026-01-01' : 1;
}

/** By column, its type in the store. */
async function columnsOf(name: StatementName, text: string): Promise<Map<string, string>> {
  const made = withTexts(withoutHotParts(text), TEXTS[name] ?? RANKED);
  const sql = made.replace(/\nSETTINGS [^\n]*$/, '');
  const parameters = Object.fromEntries(
    [...sql.matchAll(/\{(\w+):([^}]+)\}/g)].map(([, parameter = '', type = '']) => [
      parameter,
      (name === FUNNEL.name ? FUNNEL.parameters[parameter] : undefined) ?? sampleOf(type),
    ]),
  );
  const found = await fixture.store.query<{ name: string; type: string }>(`DESCRIBE (${sql})`, parameters);
  return new Map(found.map((column) => [column.name, column.type]));
}

/** The kinds of a statement's columns that the store's types do not fit, and columns that only one side has. */
function differencesOf(columns: Columns, found: ReadonlyMap<string, string>): string[] {
  const all = new Set([...Object.keys(columns), ...found.keys()]);
  return [...all].flatMap((column) => {
    const [kind, type] = [columns[column], found.get(column)];
    if (kind === undefined) return `${column} ${type}: sent, and not in the list`;
    const isOptional = kind.endsWith('?');
    if (type === undefined) return isOptional ? [] : `${column} ${kind}: not sent`;
    const types = STORE_TYPES[kind.replace('?', '') as keyof typeof STORE_TYPES];
    return types.test(type) ? [] : `${column} ${kind}: sent as ${type}`;
  });
}

test('the rows of every statement have the columns and types of the list, and no other is sent', async () => {
  const texts = readStatements();
  const differences: Record<string, string[]> = {};
  for (const name of names) {
    const found = differencesOf(ANSWER_ROWS[name], await columnsOf(name, texts.get(name) ?? ''));
    if (found.length > 0) differences[name] = found;
  }
  expect(differences).toEqual({});
  expect([...texts.keys()].filter((name) => !Object.hasOwn(ANSWER_ROWS, name)).sort()).toEqual(STREAMS);
  expect(Object.keys(MADE_STATEMENTS).filter((name) => !Object.hasOwn(ANSWER_ROWS, name))).toEqual([]);
});
