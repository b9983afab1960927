import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { FinalizedTitles } from '../rollups/finalized-titles.ts';
import { ShownPages } from '../rollups/shown-pages.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { titlesIn } from './page-titles.ts';

const ABOUT = { projectId: storedId('site'), span: { fromMs: 0, toMs: HOUR_MS }, hoursFromMs: 0 };
const KEY = 'site pages';

/** A store with each path twice as its title; `/bare` has none. */
function titles(shown: ShownPages, fails = false) {
  const asked: string[] = [];
  const ask = async ({ name, parameters }: Statement): Promise<object[]> => {
    if (name === 'rollup-spans') return [];
    const paths = parameters.paths as readonly string[];
    asked.push(paths.join(' '));
    if (fails) throw new Error('away');
    return paths
      .filter((path) => path !== '/bare')
      .map((path) => ({ origin: 'o', path, lastTitle: `${path}${path}` }));
  };
  const history = { ask: ask as StatementRunner['ask'] };
  return {
    titlesOf: titlesIn(history, NO_SEAM, ABOUT, { titles: new FinalizedTitles(100_000), shown, key: KEY }),
    asked,
  };
}

const pages = (...paths: readonly string[]) => paths.map((path) => ({ path }));
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the titles of pages that were shown before are asked for at once, those of others afterwards', async () => {
  const shown = new ShownPages(100_000);
  const first = titles(shown);
  await settled();
  expect(first.asked).toEqual([]);
  expect([...(await first.titlesOf(pages('/a', '/b', '/bare')))].map(([, title]) => title)).toEqual([
    '/a/a',
    '/b/b',
  ]);
  expect(first.asked).toEqual(['/a /b /bare']);

  const second = titles(shown);
  await settled();
  expect(second.asked).toEqual(['/a /b /bare']);
  expect([...(await second.titlesOf(pages('/b', '/c')))].map(([, title]) => title)).toEqual(
    expect.arrayContaining(['/b/b', '/c/c']),
  );
  expect(second.asked).toEqual(['/a /b /bare', '/c']);

  const third = titles(shown);
  await third.titlesOf(pages('/c', '/b'));
  expect(third.asked).toEqual(['/b /c']);
});

test('titles that were asked for in vain do not matter where none of these pages is shown', async () => {
  const shown = new ShownPages(100_000);
  shown.note(KEY, ['/gone']);
  const { titlesOf, asked } = titles(shown);
  expect((await titlesOf(pages('/new'))).size).toBe(1);
  expect(asked).toEqual(['/gone', '/new']);
  shown.note(KEY, ['/gone']);
  const failing = titles(shown, true);
  await settled();
  expect((await failing.titlesOf([])).size).toBe(0);
});

test('what a site showed goes with the site', async () => {
  const shown = new ShownPages(100_000);
  shown.note(KEY, ['/a']);
  shown.note('site2 pages', ['/b']);
  shown.evict(storedId('site'));
  expect([shown.last(KEY), shown.last('site2 pages')]).toEqual([[], ['/b']]);
});

test('no more is remembered than there is room for', () => {
  const shown = new ShownPages(1_000);
  shown.note('a 1', ['/a', '/b']);
  shown.note('b 1', ['/a', '/b']);
  expect([shown.last('a 1'), shown.last('b 1')]).toEqual([[], ['/a', '/b']]);
});
