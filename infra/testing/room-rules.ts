import { posix } from 'node:path';
import { CONTRACTS, ROOMS } from './import-rules.ts';
import {
  type Breach,
  type Import,
  importsOf,
  isTest,
  isTesting,
  lineAt,
  sourcesOf,
  type Tree,
} from './source-tree.ts';

/** A stranger reads this many names at a glance; what does not fit belongs in a folder named by what a reader looks for. */
const ROOT_FILES_MAX = 15;
/** Contract files of the rooms between `infra`, which is all contract, and `bench`, which has none. */
const CONTRACT_FILES_MAX = 10;
/** Two rooms may call their own thing by the same name; a third makes the name mean nothing. */
const DECLARATIONS_MAX = 2;

/** Rules about the layout inside rooms: files at the root, arrows between folders, contracts, names of types. */
export function roomBreaches(tree: Tree, contractsMax = CONTRACT_FILES_MAX): Breach[] {
  return [
    ...crowdedRoots(tree),
    ...folderCycles(tree),
    ...tooManyContracts(tree, contractsMax),
    ...repeatedTypes(tree),
  ];
}

function crowdedRoots(tree: Tree): Breach[] {
  return ROOMS.flatMap((room) => {
    const files = [...tree.keys()].filter((path) => posix.dirname(path) === room);
    if (files.length <= ROOT_FILES_MAX) return [];
    return [
      { path: `${room}/`, line: 1, rule: `${files.length} files at the root; the most is ${ROOT_FILES_MAX}` },
    ];
  });
}

/**
 * Arrows between the folders of a room, and the files at its root, that close a circle. Tests do not count: the test of a
 * folder may ask a whole room.
 */
function folderCycles(tree: Tree): Breach[] {
  const arrows = new Map<string, Map<string, Import>>();
  for (const found of importsOf(tree)) {
    if (!found.isOurs || [found.path, found.target].some((path) => isTest(path) || isTesting(path))) continue;
    const [from, to] = [boxOf(found.path), boxOf(found.target)];
    if (from === undefined || to === undefined || from === to || roomOf(from) !== roomOf(to)) continue;
    const targets = arrows.get(from) ?? new Map<string, Import>();
    if (!targets.has(to)) targets.set(to, found);
    arrows.set(from, targets);
  }
  const breaches: Breach[] = [];
  const done = new Set<string>();
  const open: string[] = [];
  const visit = (box: string) => {
    open.push(box);
    for (const [target, { path, line }] of arrows.get(box) ?? []) {
      if (open.includes(target)) {
        const circle = [...open.slice(open.indexOf(target)), target].join(' → ');
        breaches.push({ path, line, rule: `folders import each other: ${circle}` });
      } else if (!done.has(target)) visit(target);
    }
    open.pop();
    done.add(box);
  };
  for (const box of arrows.keys()) if (!done.has(box)) visit(box);
  return breaches;
}

function tooManyContracts(tree: Tree, max: number): Breach[] {
  const contracts = [...tree.keys()].filter(
    (path) =>
      !path.startsWith('infra/') && !isTest(path) && CONTRACTS.some((contract) => contract.test(path)),
  );
  if (contracts.length <= max) return [];
  const rule = `${contracts.length} contract files; the most is ${max}`;
  return [{ path: contracts[max] ?? '', line: 1, rule }];
}

const DECLARATION =
  /^[ \t]*(?:export[ \t]+)?(?:abstract[ \t]+)?(?:interface|class|type)[ \t]+([A-Z]\w*)(?=[ \t]*[<={\n]|[ \t]+(?:extends|implements)\b)/gm;

function repeatedTypes(tree: Tree): Breach[] {
  const declared = new Map<string, Breach[]>();
  for (const [path, { code }] of sourcesOf(tree)) {
    for (const match of code.matchAll(DECLARATION)) {
      const name = match[1] ?? '';
      const rule = `a third type is called ${name}; name each by what it is`;
      const line = lineAt(code, match.index + match[0].indexOf(name));
      declared.set(name, [...(declared.get(name) ?? []), { path, line, rule }]);
    }
  }
  return [...declared.values()].flatMap((all) => all.slice(DECLARATIONS_MAX));
}

/** The folder of a room that a file is in, or the file itself at the room's root. */
function boxOf(path: string): string | undefined {
  const [room = '', entry, ...more] = path.split('/');
  if (entry === undefined || !ROOMS.some((known) => known === room)) return undefined;
  return more.length === 0 ? path : `${room}/${entry}/`;
}

function roomOf(box: string): string {
  return box.slice(0, box.indexOf('/'));
}
