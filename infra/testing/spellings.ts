import { type Breach, findAll, isTest, isTesting, sourcesOf, type Tree } from './source-tree.ts';

/** Something that has one definition, and how a second one would be spelled. */
interface Definition {
  readonly what: string;
  /** The file that defines it. */
  readonly path: string;
  readonly pattern: RegExp;
}

const DEFINITIONS: readonly Definition[] = [
  {
    what: 'a bounce',
    path: 'processor/figures.ts',
    pattern: /views(?:\[\w+\])?(?:\s*\?\?\s*0\))?\s*(?:<=\s*1\b|>\s*1\b|<\s*2\b)/gi,
  },
  {
    what: 'the duration of a session',
    path: 'processor/figures.ts',
    pattern:
      /\bend(?:ed)?(?:At|Ms)\b(?:\[\w+\])?(?:\s*\?\?\s*0)?\)*\s*-\s*[\w$({.]*?start(?:ed)?(?:At|Ms)\b/g,
  },
  {
    what: 'the visitor of a session',
    path: 'processor/rows.ts',
    pattern: /\bif\(profileId != '', profileId, deviceId\)/g,
  },
  {
    what: 'amounts by currency in an answer',
    path: 'query/sql/event-texts.ts',
    pattern: /\(code, toString\(amount\)\)/g,
  },
  {
    what: 'the end of history, and what is hot',
    path: 'query/sql/relations.ts',
    pattern: /<= \{flushed:|\bFROM hot\b|\$HOT_(?:EVENTS|SESSIONS)\$/g,
  },
];

/** Second definitions in programs. Oracles of tests and of the bench have their own, so that they can differ. */
export function spellingBreaches(tree: Tree): Breach[] {
  const sources = sourcesOf(tree);
  return [...tree]
    .filter(([path]) => /\.(?:ts|tsx|sql)$/.test(path) && /^(?:infra|ingest|processor|query)\//.test(path))
    .filter(([path]) => !isTest(path) && !isTesting(path))
    .flatMap(([path, content]) => {
      const text = sources.get(path)?.withTexts ?? content.replaceAll(/--.*$/gm, '');
      return DEFINITIONS.filter((one) => one.path !== path).flatMap((one) =>
        findAll(path, text, one.pattern, `${one.path} defines ${one.what}`),
      );
    });
}
