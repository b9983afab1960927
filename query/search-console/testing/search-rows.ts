import { must } from '../../../infra/assert.ts';
import type { SeededRandom } from '../../../ingest/testing/random.ts';
import { addDays } from '../../../processor/search-console.ts';

/** A row of the Search Console, as it is imported. */
export interface SearchRow {
  readonly date: string;
  readonly query: string;
  readonly page: string;
  readonly country?: string;
  readonly device?: 'desktop' | 'mobile' | 'tablet';
  readonly clicks: number;
  readonly impressions: number;
  readonly position: number;
}

const QUERIES = [
  '',
  'red shoes',
  'shoes',
  'über uns',
  'ÜBER',
  "o'hara",
  'cheap boots',
  'boots',
  '東京 靴',
  'rare',
] as const;
const PAGES = ['', 'a', 'b', 'b#top', 'b#end', 'a?x=1#y#z', 'c'] as const;
const ROWS_OF_DAY = 12;

/** Random rows of consecutive days, many of which are imported again with other figures. */
export class SearchRows {
  /** In the order of import; among rows with one key, the row of the latest import counts. */
  readonly imports: readonly { readonly rows: readonly SearchRow[]; readonly importedAtMs: number }[];
  /** The rows that count. */
  readonly rows: readonly SearchRow[];

  constructor(random: SeededRandom, { from, days }: { readonly from: string; readonly days: number }) {
    const first = Array.from({ length: days }, (_, index) => {
      const date = addDays(from, index);
      return Array.from({ length: ROWS_OF_DAY }, () => randomRow(random, date));
    }).flat();
    const again = first
      .filter(() => random.below(3) === 0)
      .map((row) => ({ ...randomRow(random, row.date), query: row.query, page: row.page }));
    const latest = new Map<string, SearchRow>();
    this.imports = [first, again].map((given, index) => {
      const rows = new Map(given.map((row) => [keyOf(row), row]));
      for (const [key, row] of rows) latest.set(key, row);
      return { rows: [...rows.values()], importedAtMs: Date.parse('2026-11-01') + index };
    });
    this.rows = [...latest.values()];
  }
}

function randomRow(random: SeededRandom, date: string): SearchRow {
  const place = random.below(QUERIES.length);
  const impressions = random.below(5) === 0 ? 0 : random.below(80);
  return {
    date,
    query: must(QUERIES[place], 'within'),
    page: `https://site.example/${must(PAGES[random.below(PAGES.length)], 'within')}`,
    clicks: random.below(Math.floor(impressions / (place % 2 === 0 ? 8 : 40)) + 1),
    impressions,
    // Quarters add up exactly in any order, so that the store's sums can be compared. Queries differ in position.
    position: 1 + place * 2 + random.below(12) / 4,
    ...(random.below(4) === 0 ? { country: 'deu', device: 'mobile' as const } : {}),
  };
}

function keyOf({ date, query, page, country, device }: SearchRow): string {
  return JSON.stringify([date, query, page, country, device]);
}
