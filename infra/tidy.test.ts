import { describe, expect, test } from 'vitest';
import { SETTINGS } from './config.ts';
import { projectRoot } from './root.ts';
import { importBreaches } from './testing/import-rules.ts';
import { lockBreaches } from './testing/lock-rules.ts';
import { pageBreaches } from './testing/page-rules.ts';
import { habitBreaches } from './testing/plain-words.ts';
import { roomBreaches } from './testing/room-rules.ts';
import { settingsTable, tableIn } from './testing/settings-table.ts';
import { readSource } from './testing/source-text.ts';
import { type Breach, readTree, type Tree } from './testing/source-tree.ts';
import { spellingBreaches } from './testing/spellings.ts';
import { missingReadmes, textBreaches } from './testing/text-rules.ts';

// The repository's own rules. The first group checks the repository; the others show that every rule can fail.

describe('this repository', () => {
  const repository = readTree(projectRoot);

  test('imports only to the left, only contract files, and without cycles', () => {
    expect(importBreaches(repository).map(show)).toEqual([]);
  });

  test('has rooms that are easy to read: few files at the root, few contracts, no cycle of folders', () => {
    expect(roomBreaches(repository).map(show)).toEqual([]);
  });

  test('follows its rules about names, sizes and words', () => {
    expect(textBreaches(repository).map(show)).toEqual([]);
  });

  test('has the hash of every package that it installs', () => {
    expect(lockBreaches(repository).map(show)).toEqual([]);
  });

  test('has pages whose links lead somewhere, a short README, and decisions in one form', () => {
    expect(pageBreaches(repository).map(show)).toEqual([]);
  });

  test('has comments in plain words, and never fewer of them', () => {
    expect(habitBreaches(repository).map(show)).toEqual([]);
  });

  test('defines figures and the seam once', () => {
    expect(spellingBreaches(repository).map(show)).toEqual([]);
  });

  test('has a README in every room', () => {
    expect(missingReadmes(repository).map(show)).toEqual([]);
  });

  test('lists exactly its settings in infra/README.md', () => {
    expect(tableIn(repository.get('infra/README.md') ?? '')).toBe(settingsTable(SETTINGS));
  });
});

describe('an import', () => {
  const cases: [name: string, files: Record<string, string>, breaches: number][] = [
    [
      'to the left, of a contract file, is allowed',
      { 'query/a.ts': `import { b } from '../processor/rows.ts';` },
      0,
    ],
    ['to the right is wrong', { 'infra/a.ts': `import { b } from '../ingest/event.ts';` }, 1],
    ['of a type to the right is wrong', { 'infra/a.ts': `import type { B } from '../ingest/event.ts';` }, 1],
    ['to the right, dynamic, is wrong', { 'infra/a.ts': `await import('../ingest/main.ts');` }, 1],
    ['of a private file is wrong', { 'processor/a.ts': `export { b } from '../ingest/http/routes.ts';` }, 1],
    ['of a private file of infra is wrong', { 'ingest/a.ts': `import '../infra/launch/run.mjs';` }, 1],
    [
      'of a private file by the bench is allowed',
      { 'bench/a.ts': `import { b } from '../ingest/http/routes.ts';` },
      0,
    ],
    ['of the bench is wrong', { 'query/a.ts': `import { b } from '../bench/load.ts';` }, 1],
    [
      'of testing by a test is allowed',
      { 'query/a.test.ts': `import { b } from '../infra/testing/b.ts';` },
      0,
    ],
    ['of testing by a program is wrong', { 'infra/a.ts': `import { b } from './testing/b.ts';` }, 1],
    [
      'of testing to the right is wrong',
      { 'infra/a.test.ts': `import { b } from '../ingest/testing/b.ts';` },
      1,
    ],
    [
      'of an adapter package by one file is allowed',
      { 'infra/a.ts': `import { App } from 'uWebSockets.js';` },
      0,
    ],
    [
      'of an adapter package by a second file is wrong',
      {
        'infra/a.ts': `import { App } from 'uWebSockets.js';`,
        'ingest/b.ts': `import u from 'uWebSockets.js';`,
      },
      1,
    ],
    [
      'in a cycle is wrong',
      {
        'infra/a.ts': `import { b } from './b.ts';`,
        'infra/b.ts': `import { c } from './c.ts';`,
        'infra/c.ts': `import { a } from './a.ts';`,
      },
      1,
    ],
    [
      'of a value of the server by a page is wrong',
      { 'query/dashboard/app/a.ts': `import { b } from '../../api.ts';` },
      1,
    ],
    [
      'of a type of the server by a page is allowed',
      {
        'query/dashboard/app/a.ts': `import { c } from './c.ts';\nimport type {\n  B,\n} from '../../api.ts';`,
      },
      0,
    ],
    [
      'of a value by a page after one of a type is wrong',
      {
        'query/wall/app/a.ts': `import type { B } from '../../api.ts';\nimport { b } from '../../api.ts';`,
      },
      1,
    ],
    [
      'of data of the server by a page is allowed',
      { 'query/wall/app/a.ts': `import { B } from '../../manage/site-settings.ts';` },
      0,
    ],
    [
      'of a value by data for pages is wrong',
      { 'query/manage/site-settings.ts': `import { z } from 'zod';` },
      1,
    ],
    ['in a comment does not count', { 'infra/a.ts': `// import { b } from '../ingest/event.ts';` }, 0],
    ['in a string does not count', { 'infra/a.ts': `const a = "import('../ingest/event.ts')";` }, 0],
  ];
  test.each(cases)('%s', (_name, files, breaches) => {
    expect(importBreaches(treeOf(files))).toHaveLength(breaches);
  });
});

describe('a room', () => {
  const files = (room: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${room}/file-${index}.ts`, '']));
  const types = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`query/t-${index}.ts`, 'export interface Answer {}']),
    );
  const contracts = Object.fromEntries(
    [
      ...['event', 'session-lookup', 'entity-update', 'entity-lookup', 'track-schema'].map(
        (name) => `ingest/${name}.ts`,
      ),
      ...['rows', 'hot', 'event-export', 'integration', 'erasure'].map((name) => `processor/${name}.ts`),
    ].map((path) => [path, '']),
  );
  const cases: [name: string, files: Record<string, string>, breaches: number][] = [
    ['with 15 files at its root is allowed', files('query', 15), 0],
    ['with 16 files at its root is wrong', files('query', 16), 1],
    ['with many files in a folder is allowed', files('query/sql', 40), 0],
    ['with ten contracts is allowed', contracts, 0],
    [
      'whose folders import one way is allowed',
      {
        'query/a/one.ts': `import { b } from '../b/two.ts';`,
        'query/main.ts': `import { a } from './a/one.ts';`,
      },
      0,
    ],
    [
      'whose folders import each other is wrong',
      {
        'query/a/one.ts': `import { b } from '../b/two.ts';`,
        'query/b/three.ts': `import type { C } from '../a/four.ts';`,
      },
      1,
    ],
    [
      'whose root file and folder import each other is wrong',
      {
        'query/a/one.ts': `import { main } from '../api.ts';`,
        'query/api.ts': `import { two } from './a/two.ts';`,
      },
      1,
    ],
    [
      'whose folders import each other only in tests is allowed',
      {
        'query/a/one.ts': `import { b } from '../b/two.ts';`,
        'query/b/two.test.ts': `import { c } from '../a/one.ts';`,
      },
      0,
    ],
    ['in which a type has two declarations is allowed', types(2), 0],
    ['in which a type has three declarations is wrong', types(3), 1],
    [
      'that re-exports a type does not declare it',
      { ...types(2), 'query/u.ts': `import type { Answer } from './t-0.ts';\nexport type { Answer };` },
      0,
    ],
  ];
  test.each(cases)('%s', (_name, tree, breaches) => {
    expect(roomBreaches(treeOf(tree)).map(show)).toHaveLength(breaches);
  });

  test('with more contracts than the limit is wrong', () => {
    expect(roomBreaches(treeOf(contracts), 9).map(({ rule }) => rule)).toEqual([
      '10 contract files; the maximum is 9',
    ]);
  });
});

describe('a file', () => {
  const cases: [name: string, files: Record<string, string>, breaches: number][] = [
    ['without a breach is allowed', { 'infra/a.ts': 'export const whiteArchitecture = 1; // a hit' }, 0],
    ['of infra with an analytics word is wrong', { 'infra/a.ts': 'export const cacheHits = 1;' }, 1],
    [
      'of infra with an analytics word in a string is wrong',
      { 'infra/a.ts': `export const a = 'a visitor';` },
      1,
    ],
    [
      'of another room with an analytics word is allowed',
      { 'query/a.ts': 'export const bounceRate = 1;' },
      0,
    ],
    ['with a note about open work is wrong', { 'query/a.ts': `// ${'TO'}${'DO'}: later` }, 1],
    ['with test.only is wrong', { 'query/a.test.ts': `test.only('a', () => {});` }, 1],
    ['with the type any is wrong', { 'query/a.ts': 'export const a = (b: any) => b;' }, 1],
    ['with Promise.any is allowed', { 'query/a.ts': 'await Promise.any(list); const o = { any: 1 };' }, 0],
    ['that reads the environment is wrong', { 'query/a.ts': 'const { PORT } = process.env;' }, 1],
    ['of settings that reads the environment is allowed', { 'infra/config.ts': 'const e = process.env;' }, 0],
    [
      'that passes the environment on is allowed',
      { 'bench/a.ts': 'const env = { ...process.env, A: 1 };' },
      0,
    ],
    ['called index.ts is wrong', { 'query/index.ts': 'export const a = 1;' }, 1],
    ['that re-exports everything is wrong', { 'query/a.ts': `export * from './b.ts';` }, 1],
    ['in a folder called utils is wrong', { 'query/utils/a.ts': 'export const a = 1;' }, 1],
    ['called helpers.ts is wrong', { 'query/helpers.ts': 'export const a = 1;' }, 1],
    ['of 451 lines is wrong', { 'query/a.ts': 'export {};\n'.repeat(450) }, 1],
    ['that declares how long an hour is is wrong', { 'query/a.ts': 'const HOUR_MS = 60 * MINUTE_MS;' }, 1],
    ['that spells out how long a day is is wrong', { 'query/a.ts': 'const weekMs = 7 * 86_400_000;' }, 1],
    ['of a browser may declare it', { 'query/wall/app/a.ts': 'const HOUR_MS = 3_600_000;' }, 0],
    ['that names a registry is wrong', { 'query/a.md': `see ${['registry', 'npmjs', 'org'].join('.')}` }, 1],
  ];
  test.each(cases)('%s', (_name, files, breaches) => {
    expect(textBreaches(treeOf(files)).map(show)).toHaveLength(breaches);
  });
});

describe('a second definition', () => {
  const cases: [name: string, files: Record<string, string>, breaches: number][] = [
    ['of a bounce is wrong', { 'query/a.ts': 'const isBounce = (screenViews[slot] ?? 0) <= 1;' }, 1],
    ['of a bounce in a statement is wrong', { 'query/a.sql': 'SELECT sum(sign * (screenViews <= 1))' }, 1],
    ['of a duration is wrong', { 'query/a.ts': 'const durationMs = endedAt - startedAt;' }, 1],
    [
      'of a duration in a statement is wrong',
      { 'query/a.ts': "const text = 'toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)';" },
      1,
    ],
    [
      'of a visitor is wrong',
      { 'query/a.sql': "SELECT sipHash64(if(profileId != '', profileId, deviceId))" },
      1,
    ],
    ['of history is wrong', { 'query/a.sql': 'WHERE flushNumber <= {flushed:Array(UInt32)}[1]' }, 1],
    ['of hot rows is wrong', { 'query/a.ts': "const text = 'AND id NOT IN (SELECT id FROM hot)';" }, 1],
    ['in its own file is allowed', { 'processor/figures.ts': 'export const isBounce = views <= 1;' }, 0],
    ['in an oracle is allowed', { 'query/testing/recount.ts': 'const isBounce = views <= 1;' }, 0],
  ];
  test.each(cases)('%s', (_name, files, breaches) => {
    expect(spellingBreaches(treeOf(files)).map(show)).toHaveLength(breaches);
  });
});

describe('a page', () => {
  const target = { 'infra/b.md': '# One: `two` (three)\n', 'infra/c/d.ts': '' };
  const decision = '# A\n**Context.** a\n**Decision.** b\n**Costs.** c\n**What would change it.** d\n';
  const list = { 'decisions/README.md': '[A](a.md)', 'decisions/a.md': decision };
  const roots = { 'CONTRIBUTING.md': '', 'SECURITY.md': '', 'CHANGELOG.md': '' };
  const cases: [name: string, files: Record<string, string>, breaches: number][] = [
    ['with a link to a page is allowed', { 'infra/a.md': '[b](b.md) [c](../infra/c)', ...target }, 0],
    ['with a link to no page is wrong', { 'infra/a.md': '[b](../b.md)', ...target }, 1],
    ['with a link to a heading is allowed', { 'infra/a.md': '[b](b.md#one-two-three)', ...target }, 0],
    ['with a link to no heading is wrong', { 'infra/a.md': '[b](b.md#one) [c](#two)', ...target }, 2],
    ['with a link in code is allowed', { 'infra/a.md': '`[b](c.md)`\n```\n[b](c.md)\n```\n' }, 0],
    ['with a link to another host is allowed', { 'infra/a.md': '[b](https://b.example/c.md)' }, 0],
    ['that names a file is allowed', { 'infra/a.md': '`infra/c/d.ts` `infra/c/*`', ...target }, 0],
    ['that names no file is wrong', { 'infra/a.md': '`infra/d.ts`', ...target }, 1],
    ['called README with 200 lines is allowed', { 'README.md': 'a\n'.repeat(200), ...roots }, 0],
    ['called README with 201 lines is wrong', { 'README.md': 'a\n'.repeat(201), ...roots }, 1],
    ['called README without the others is wrong', { 'README.md': '' }, 3],
    ['with a decision is allowed', list, 0],
    ['with a decision that no list has is wrong', { 'decisions/a.md': decision }, 1],
    [
      'with a decision that costs nothing is wrong',
      { ...list, 'decisions/a.md': decision.replace('Costs', '') },
      1,
    ],
    ['with a long decision is wrong', { ...list, 'decisions/a.md': decision + 'a\n'.repeat(40) }, 1],
  ];
  test.each(cases)('%s', (_name, files, breaches) => {
    expect(pageBreaches(treeOf(files)).map(show)).toHaveLength(breaches);
  });
});

describe('an entry of the lock file', () => {
  const HASH = `sha512-${'A'.repeat(86)}==`;
  const cases: [name: string, entry: object, breaches: number][] = [
    ['with a hash is allowed', { version: '1.0.0', integrity: HASH }, 0],
    ['without a hash is wrong', { version: '1.0.0' }, 1],
    ['without a hash is wrong, also if it is optional', { version: '1.0.0', optional: true }, 1],
    ['with a weak hash is wrong', { version: '1.0.0', integrity: 'sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }, 1],
  ];
  test.each(cases)('%s', (_name, entry, breaches) => {
    const packages = { '': { version: '0.1.0' }, 'node_modules/a': entry };
    const tree = treeOf({ 'package-lock.json': JSON.stringify({ packages }) });
    expect(lockBreaches(tree)).toHaveLength(breaches);
  });

  test('that no registry served is allowed only by its name', () => {
    const packages = { 'node_modules/a': { optional: true } };
    const tree = treeOf({ 'package-lock.json': JSON.stringify({ packages }) });
    expect(lockBreaches(tree, ['node_modules/a'])).toEqual([]);
    expect(lockBreaches(tree, ['node_modules/b'])).toHaveLength(1);
  });
});

test('a room without a README is found', () => {
  const tree = treeOf({ 'infra/a.ts': '', 'infra/README.md': '', 'query/a.ts': '' });
  expect(missingReadmes(tree).map(({ path }) => path)).toEqual(['query/README.md']);
});

describe('a habit of comments', () => {
  const habit = { name: 'noun clause as title', instead: 'a noun' };
  const lines = [
    '// Who reads it.',
    'const who = 1;',
    '/**',
    ' * What it is.',
    ' * Who sees it.',
    ' */',
    '// It is',
    '// Who.',
  ];
  const tree = treeOf({ 'infra/a.ts': lines.join('\n') });
  const rulesWith = (most: number) => habitBreaches(tree, [{ ...habit, most }]).map(({ rule }) => rule);

  test('is counted once for each comment that begins with it', () => expect(rulesWith(2)).toEqual([]));

  test('may not become more frequent', () =>
    expect(rulesWith(1)).toEqual(['comments have "noun clause as title" 2 times, at most 1: write a noun']));

  test('lowers its maximum when it becomes less frequent', () =>
    expect(rulesWith(3)).toEqual([
      'comments have "noun clause as title" only 2 times: lower its maximum from 3',
    ]));
});

test('a settings table without a row differs from the settings', () => {
  const table = settingsTable({ PORT: { default: '3000', help: 'port' } });
  expect(tableIn(`# Title\n\n${table}\n\nmore`)).toBe(table);
  expect(tableIn('# Title')).not.toBe(table);
});

test('code, strings and comments are separated', () => {
  const source = [
    "const a = 'b // c'; // d",
    'const e = `f $' + '{g("h")} i`;',
    'const j = /[/"]/.test(k) ? l / m : 1;',
  ];
  const { code, comments } = readSource(source.join('\n'));
  expect(code.replaceAll(/ +/g, ' ').split('\n')).toEqual([
    "const a = ' '; ",
    'const e = ` $' + '{g(" ")} `;',
    'const j = / /.test(k) ? l / m : 1;',
  ]);
  expect(comments.trim()).toBe('// d');
});

test('text between tags is no code', () => {
  const { code, comments } = readSource("const a = <p title='any'>isn't any // b {c}</p>;", {
    isMarkup: true,
  });
  expect(code.replaceAll(/ +/g, ' ')).toBe("const a = <p title=' '> {c}</p>;");
  expect(comments.trim()).toBe('');
});

function treeOf(files: Record<string, string>): Tree {
  return new Map(Object.entries(files));
}

function show({ path, line, rule }: Breach): string {
  return `${path}:${line}: ${rule}`;
}
