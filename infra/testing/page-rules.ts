import { posix } from 'node:path';
import { ROOMS } from './import-rules.ts';
import type { Breach, Tree } from './source-tree.ts';

const README_LINES_MAX = 200;
/** Half a page on a screen. */
const DECISION_LINES_MAX = 32;
const DECISION_LIST = 'decisions/README.md';
const DECISION_PARTS = ['Context', 'Decision', 'Costs', 'What would change it'];
/** Pages that hosts of repositories show by these names. */
const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;
const FILE_OF_A_ROOM = new RegExp(`\`((?:${ROOMS.join('|')})/[\\w./-]+)\``, 'g');
/** Endings of files that the tree holds; it has no pictures. */
const HELD = /\.(md|ts|tsx|mjs|json|sql|ya?ml|conf)$/;

/** Rules about pages: links lead somewhere, named files exist, the README is short, a decision has all its parts. */
export function pageBreaches(tree: Tree): Breach[] {
  const pages = [...tree].filter(([path]) => path.endsWith('.md'));
  return [
    ...pages.flatMap(([path, text]) => [...deadLinks(tree, path, text), ...missingFiles(tree, path, text)]),
    ...missingPages(tree),
    ...longReadme(tree.get('README.md')),
    ...pages
      .filter(([path]) => isDecision(path))
      .flatMap(([path, text]) => [...unlikeDecision(path, text), ...unlisted(tree, path)]),
  ];
}

function deadLinks(tree: Tree, path: string, text: string): Breach[] {
  return linesOf(withoutBlocks(text)).flatMap((content, index) =>
    [...content.replaceAll(/`[^`]*`/g, '').matchAll(LINK)]
      .filter(([, link = '']) => !/^\w+:/.test(link) && !leads(tree, path, link))
      .map(([, link]) => ({ path, line: index + 1, rule: `the link ${link} leads nowhere` })),
  );
}

function leads(tree: Tree, path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : posix.join(posix.dirname(path), file);
  if (posix.extname(target) !== '' && !HELD.test(target)) return true;
  if (!exists(tree, target)) return false;
  return anchor === undefined || anchorsOf(tree.get(target) ?? '').includes(anchor);
}

/** The anchors of a page's headings, as the hosts of repositories make them. */
function anchorsOf(text: string): string[] {
  return linesOf(withoutBlocks(text))
    .filter((content) => /^#{1,6} /.test(content))
    .map((content) =>
      content
        .replace(/^#+ /, '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    );
}

function missingFiles(tree: Tree, path: string, text: string): Breach[] {
  return linesOf(withoutBlocks(text)).flatMap((content, index) =>
    [...content.matchAll(FILE_OF_A_ROOM)]
      .filter(([, named = '']) => HELD.test(named) && !exists(tree, named))
      .map(([, named]) => ({ path, line: index + 1, rule: `there is no file ${named}` })),
  );
}

function missingPages(tree: Tree): Breach[] {
  if (!tree.has('README.md')) return [];
  return ROOT_PAGES.filter((page) => !tree.has(page)).map((path) => ({
    path,
    line: 1,
    rule: 'this page is missing',
  }));
}

function longReadme(text = ''): Breach[] {
  const lines = linesOf(text).length;
  if (lines <= README_LINES_MAX) return [];
  const rule = `${lines} lines; the maximum is ${README_LINES_MAX}, and more belongs to the README of a room`;
  return [{ path: 'README.md', line: README_LINES_MAX, rule }];
}

function isDecision(path: string): boolean {
  return posix.dirname(path) === 'decisions' && path !== DECISION_LIST;
}

function unlikeDecision(path: string, text: string): Breach[] {
  const lines = linesOf(text);
  const parts = lines.flatMap((content) => /^\*\*(.+)\.\*\*/.exec(content)?.[1] ?? []);
  const breach = (rule: string): Breach => ({ path, line: 1, rule });
  return [
    ...(lines.length > DECISION_LINES_MAX
      ? [breach(`${lines.length} lines; the maximum is ${DECISION_LINES_MAX}`)]
      : []),
    ...(parts.join() === DECISION_PARTS.join()
      ? []
      : [breach(`a decision has the parts ${DECISION_PARTS.join(', ')}, in this order`)]),
  ];
}

/** A decision that the list does not have. */
function unlisted(tree: Tree, path: string): Breach[] {
  if (tree.get(DECISION_LIST)?.includes(`](${posix.basename(path)})`)) return [];
  return [{ path, line: 1, rule: `${DECISION_LIST} does not list this decision` }];
}

function exists(tree: Tree, path: string): boolean {
  const folder = `${path.replace(/\/$/, '')}/`;
  return tree.has(path) || [...tree.keys()].some((key) => key.startsWith(folder));
}

/** The page with empty lines where code blocks are. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, (block) => block.replaceAll(/[^\n]/g, ''));
}

function linesOf(text: string): string[] {
  return text.trimEnd().split('\n');
}
