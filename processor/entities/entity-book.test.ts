import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { BY_SECRET } from '../../ingest/entity-update.ts';
import { applyUpdate, type EntityDocument } from './document.ts';
import { EntityBook } from './entity-book.ts';

const name = (id: string) => ({ kind: 'profile', projectId: storedId('demo'), id }) as const;

function profile(id: string, firstName: string, version = 1n): EntityDocument {
  const head = { projectId: storedId('demo'), id, atMs: 0, updateId: '' };
  const { document } = applyUpdate(
    undefined,
    { kind: 'identify', ...head, authority: BY_SECRET, firstName, properties: [] },
    version,
  );
  if (document === undefined) throw new Error('no profile was made');
  return document;
}

const roomy = { cleanMax: 100, cleanCharsMax: 1_000_000 };

test('an unknown entity differs from one that does not exist', () => {
  const book = new EntityBook(roomy);
  expect(book.knows(name('a'))).toBe(false);
  book.learn(name('a'), undefined);
  expect(book.knows(name('a'))).toBe(true);
  expect(book.find(name('a'))).toBeUndefined();
});

test('a late load replaces nothing that is known', () => {
  const book = new EntityBook(roomy);
  const changed = profile('a', 'new', 2n);
  book.change(changed);
  book.learn(name('a'), profile('a', 'old'));
  expect(book.find(name('a'))).toBe(changed);
  book.settle(book.dirty());
  book.learn(name('a'), profile('a', 'old'));
  expect(book.find(name('a'))).toBe(changed);
});

test('an entity that changed during a flush waits for the next one', () => {
  const book = new EntityBook(roomy);
  book.change(profile('a', 'first'));
  const flushed = book.dirty();
  const second = profile('a', 'second', 2n);
  book.change(second);
  book.settle(flushed);
  expect(book.dirty()).toEqual([second]);
  book.settle(book.dirty());
  expect(book.dirty()).toEqual([]);
  expect(book.dirtyChars).toBe(0);
  expect(book.find(name('a'))).toBe(second);
});

test('clean entities are capped by number and by size, changed ones are never evicted', () => {
  const book = new EntityBook({ cleanMax: 3, cleanCharsMax: 10_000 });
  for (const id of ['a', 'b', 'c', 'd']) book.learn(name(id), profile(id, 'x'));
  expect(book.knows(name('a'))).toBe(false);
  expect(book.knows(name('d'))).toBe(true);
  const properties = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(100, '.'));
  const large = { ...profile('large', 'x'), properties } as EntityDocument;
  book.learn(name('large'), large);
  expect(book.knows(name('large'))).toBe(false);
  for (let index = 0; index < 50; index += 1) book.change(profile(`changed-${index}`, 'x'));
  expect(book.dirtyEntities).toBe(50);
});

test('the store lacks people of a site while a profile or a group of it is dirty, and nothing else counts', () => {
  const kinds = (['profile', 'group', 'tally'] as const).map((kind) => {
    const book = new EntityBook(roomy);
    book.change({ ...profile('a', 'x'), kind } as EntityDocument);
    const isDirty = [book.hasDirtyPeople(storedId('demo')), book.hasDirtyPeople(storedId('other'))];
    book.settle(book.dirty());
    return [kind, ...isDirty, book.hasDirtyPeople(storedId('demo'))];
  });
  expect(kinds).toEqual([
    ['profile', true, false, false],
    ['group', true, false, false],
    ['tally', false, false, false],
  ]);
});
