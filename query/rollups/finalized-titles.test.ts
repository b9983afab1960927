import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { FinalizedTitles, type PageTitlesParts } from './finalized-titles.ts';

interface Title {
  readonly origin: string;
  readonly path: string;
  readonly lastTitle: string;
  readonly titledAt: number;
}

function title(path: string, lastTitle: string, titledAt: number, origin = 'o'): Title {
  return { origin, path, lastTitle, titledAt };
}

/** A store with these titles in finalized hours and in rows. */
function store(finalized: readonly Title[], rows: readonly Title[]) {
  const asked: string[] = [];
  const ask = async ({ name, parameters }: Statement): Promise<object[]> => {
    const paths = parameters.paths as readonly string[];
    if (name === 'page-titles-finalized') asked.push(paths.join(' '));
    return (name === 'page-titles-finalized' ? finalized : rows).filter(({ path }) => paths.includes(path));
  };
  const history = { ask: ask as StatementRunner['ask'] };
  const titlesOf = async (titles: FinalizedTitles, key: string, ...paths: readonly string[]) => {
    const parameters = { site: storedId('shop'), paths };
    const parts: PageTitlesParts = {
      key,
      finalized: { name: 'page-titles-finalized', parameters },
      rows: { name: 'page-titles-rows', parameters },
    };
    const found = await titles.ask(history, parts, paths, NO_SEAM);
    return found.map(({ origin, path, lastTitle }) => `${origin}${path} ${lastTitle}`).sort();
  };
  return { asked, titlesOf };
}

test('titles of finalized hours are loaded once for each path, and the latest of both parts counts', async () => {
  const titles = new FinalizedTitles(100_000);
  const finalized = [title('/a', 'Old', 10), title('/a', 'Other', 10, 'p'), title('/b', 'Later', 30)];
  const rows = [title('/a', 'New', 20), title('/b', 'Earlier', 20), title('/c', 'Alone', 20)];
  const { asked, titlesOf } = store(finalized, rows);
  const expected = ['o/a New', 'o/b Later', 'p/a Other'];
  expect(await titlesOf(titles, 'shop 1', '/a', '/b')).toEqual(expected);
  expect(await titlesOf(titles, 'shop 1', '/a', '/b')).toEqual(expected);
  expect(await titlesOf(titles, 'shop 1', '/b', '/c')).toEqual(['o/b Later', 'o/c Alone']);
  // The lack of a title for `/c` is cached, too.
  expect(await titlesOf(titles, 'shop 1', '/c')).toEqual(['o/c Alone']);
  expect(asked).toEqual(['/a /b', '/c']);
  expect(await titlesOf(titles, 'shop 2', '/b')).toEqual(['o/b Later']);
  expect(asked).toEqual(['/a /b', '/c', '/b']);
});

test('an evicted site loads again, and nothing that was being loaded meanwhile is cached', async () => {
  const titles = new FinalizedTitles(100_000);
  const { asked, titlesOf } = store([title('/a', 'A', 10)], []);
  await titlesOf(titles, 'shop 1', '/a');
  await titlesOf(titles, 'shop2 1', '/a');
  const loading = titlesOf(titles, 'shop 1', '/a', '/b');
  titles.evict(storedId('shop'));
  expect(await loading).toEqual(['o/a A']);
  expect(asked.splice(0)).toEqual(['/a', '/a', '/b']);
  await titlesOf(titles, 'shop 1', '/a', '/b');
  await titlesOf(titles, 'shop2 1', '/a');
  expect(asked).toEqual(['/a /b']);
});

test('no more titles are cached than there is room for', async () => {
  const { asked, titlesOf } = store([title('/a', 'A'.repeat(500), 10), title('/b', 'B', 10)], []);
  const titles = new FinalizedTitles(1_000);
  for (let time = 0; time < 2; time += 1) await titlesOf(titles, 'shop 1', '/a', '/b');
  expect(asked).toEqual(['/a /b', '/a']);
});
