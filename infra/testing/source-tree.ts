import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readSource, type SourceText } from './source-text.ts';

/** The repository as data: content by path, relative to its top folder and with slashes. */
export type Tree = ReadonlyMap<string, string>;

/** A breach of one of the repository's rules. */
export interface Breach {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
}

export interface Import {
  readonly path: string;
  readonly line: number;
  /** The path in the tree for a file of the repository; otherwise the package's name. */
  readonly target: string;
  readonly isOurs: boolean;
  /** True for `import type` and `export type`, of which nothing is left in a program. */
  readonly isOfTypes: boolean;
}

const NOT_OURS = ['node_modules', 'dist', '.git', '.cache', '.data'];
const TEXT =
  /\.(ts|tsx|mts|mjs|js|cjs|json|md|sql|html|css|yml|yaml|sh|conf|txt)$|(^|\/)(Dockerfile[^/]*|run|LICENSE|\.[a-z]+)$/;

/** Reads every text file of the repository below `root`. */
export function readTree(root: string): Tree {
  const tree = new Map<string, string>();
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && !NOT_OURS.includes(entry.name)) visit(path);
      if (entry.isFile() && TEXT.test(path)) tree.set(path, readFileSync(join(root, path), 'utf8'));
    }
  };
  visit('');
  return tree;
}

const parsed = new WeakMap<Tree, Map<string, SourceText>>();

/** The three views of every TypeScript or JavaScript file in the tree; each is parsed once. */
export function sourcesOf(tree: Tree): ReadonlyMap<string, SourceText> {
  const known = parsed.get(tree);
  if (known !== undefined) return known;
  const sources = new Map<string, SourceText>();
  for (const [path, content] of tree) {
    if (/\.(ts|tsx|mts|mjs|js)$/.test(path))
      sources.set(path, readSource(content, { isMarkup: path.endsWith('x') }));
  }
  parsed.set(tree, sources);
  return sources;
}

const IMPORT = /\bfrom\s*(['"])([^'"\n]+)\1|\bimport\s*\(?\s*(['"])([^'"\n]+)\3/g;

/** Every import and re-export, static or dynamic, of values or types. */
export function importsOf(tree: Tree): Import[] {
  return [...sourcesOf(tree)].flatMap(([path, source]) =>
    [...source.withTexts.matchAll(IMPORT)]
      // In `code` the content of strings is blank.
      .filter((match) => /^(from|import)/.test(source.code.slice(match.index, match.index + 6)))
      .map((match) => {
        const named = match[2] ?? match[4] ?? '';
        const isOurs = named.startsWith('.');
        const target = isOurs ? posix.join(posix.dirname(path), named) : packageName(named);
        const isOfTypes = /\b(?:import|export)\s+type\b[^;'"]*$/.test(source.code.slice(0, match.index));
        return { path, line: lineAt(source.code, match.index), target, isOurs, isOfTypes };
      }),
  );
}

/** Every match of the pattern in `text`, as breaches of a rule. */
export function findAll(path: string, text: string, pattern: RegExp, rule: string): Breach[] {
  return [...text.matchAll(pattern)].map((match) => ({ path, line: lineAt(text, match.index), rule }));
}

export function isTest(path: string): boolean {
  return /\.test\.ts$/.test(path);
}

export function isTesting(path: string): boolean {
  return path.includes('/testing/');
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function packageName(named: string): string {
  return named.startsWith('@') ? named.split('/').slice(0, 2).join('/') : (named.split('/')[0] ?? named);
}
