import { posix } from 'node:path';
import { addEdge, cyclesIn } from './cycles.ts';
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

/** The number of names that a reader takes in at a glance; further files belong in folders named by what a reader looks for. */
const ROOT_FILES_MAX = 15;
/** For the contract files of ingest, processor and query together. */
const CONTRACT_FILES_MAX = 17;
/** Two rooms may use the same name for different types; with a third the name means nothing. */
const DECLARATIONS_MAX = 2;

/** Rules about the layout of rooms: files at the root, imports between folders, contract files, names of types. */
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
      {
        path: `${room}/`,
        line: 1,
        rule: `${files.length} files at the root; the maximum is ${ROOT_FILES_MAX}`,
      },
    ];
  });
}

/** Cycles among the folders and root files of a room. Tests do not count: the test of a folder may use a whole room. */
function folderCycles(tree: Tree): Breach[] {
  const graph = new Map<string, Map<string, Import>>();
  for (const found of importsOf(tree)) {
    if (!found.isOurs || [found.path, found.target].some((path) => isTest(path) || isTesting(path))) continue;
    const [from, to] = [boxOf(found.path), boxOf(found.target)];
    if (from === undefined || to === undefined || from === to || roomOf(from) !== roomOf(to)) continue;
    addEdge(graph, [from, to], found);
  }
  return cyclesIn(graph).map(({ edge: { path, line }, nodes }) => ({
    path,
    line,
    rule: `folders import each other: ${nodes}`,
  }));
}

function tooManyContracts(tree: Tree, max: number): Breach[] {
  const contracts = [...tree.keys()].filter(
    (path) =>
      !path.startsWith('infra/') && !isTest(path) && CONTRACTS.some((contract) => contract.test(path)),
  );
  if (contracts.length <= max) return [];
  const rule = `${contracts.length} contract files; the maximum is ${max}`;
  return [{ path: contracts[max] ?? '', line: 1, rule }];
}

const DECLARATION =
  /^[ \t]*(?:export[ \t]+)?(?:abstract[ \t]+)?(?:interface|class|type)[ \t]+([A-Z]\w*)(?=[ \t]*[<={\n]|[ \t]+(?:extends|implements)\b)/gm;

function repeatedTypes(tree: Tree): Breach[] {
  const declared = new Map<string, Breach[]>();
  for (const [path, { code }] of sourcesOf(tree)) {
    for (const match of code.matchAll(DECLARATION)) {
      const name = match[1] ?? '';
      const rule = `a third type with the name ${name}: use a more specific name`;
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
