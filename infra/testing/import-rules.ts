import { addEdge, cyclesIn } from './cycles.ts';
import { type Breach, type Import, importsOf, isTest, isTesting, type Tree } from './source-tree.ts';

/** Data flows right, knowledge flows left: a room imports only from rooms to its left. */
export const ROOMS = ['infra', 'ingest', 'processor', 'query', 'bench'] as const;

// The files of a room that other rooms may import. All others are private.
export const CONTRACTS: readonly RegExp[] = [
  /^infra\/[^/]+\.ts$/,
  /^infra\/(accounts|bus|cache|concurrency|hash|http|network|object-store|process|store)\/[^/]+\.(ts|mjs)$/,
  /^ingest\/(event|open-sessions|session-lookup|entity-update|entity-lookup|entity-size|track-schema)\.ts$/,
  /^processor\/(rows|hot|live-numbers|event-export|integration|search-console|erasure|backups|figures|fields)\.ts$/,
];

// Programs in a browser. They import types of other files, and values only of contracts that are nothing but data.
const BROWSER = /^query\/(dashboard\/app|wall\/app|widget)\//;
const BROWSER_DATA: readonly string[] = ['query/manage/site-settings.ts', 'processor/fields.ts'];

// Adapters: exactly one file imports the package. The bench may measure the bare package.
const ONE_IMPORTER = ['uWebSockets.js', 'chdb'];

/**
 * Finds imports in the wrong direction, imports of another room's private files, values of the server in a browser, cycles, and
 * packages imported by more than one file.
 */
export function importBreaches(tree: Tree): Breach[] {
  const imports = importsOf(tree);
  return [
    ...imports.flatMap(judgeImport),
    ...imports.flatMap(judgeBrowser),
    ...cycles(imports),
    ...secondImporters(imports),
  ];
}

function judgeImport({ path, line, target, isOurs }: Import): Breach[] {
  const from = roomIndex(path);
  const to = roomIndex(target);
  const breach = (rule: string): Breach[] => [{ path, line, rule }];
  if (!isOurs || from === -1 || to === -1) return [];
  if (to > from) return breach(`${ROOMS[from]} must not import from ${ROOMS[to]}: ${target}`);
  const mayImportTesting = isTest(path) || isTesting(path) || ROOMS[from] === 'bench';
  if (isTesting(target)) return mayImportTesting ? [] : breach(`only tests import ${target}`);
  if (to === from || ROOMS[from] === 'bench') return [];
  if (CONTRACTS.some((contract) => contract.test(target))) return [];
  return breach(`${target} is private to ${ROOMS[to]}`);
}

function judgeBrowser({ path, line, target, isOurs, isOfTypes }: Import): Breach[] {
  if (isOfTypes || isTest(path)) return [];
  const breach = (rule: string): Breach[] => [{ path, line, rule }];
  if (BROWSER_DATA.includes(path)) return breach('a contract for browsers is only data: it imports types');
  const isPage = /^query\/(dashboard|wall)\/app\//.test(path);
  if (!isPage || !isOurs || BROWSER.test(target) || BROWSER_DATA.includes(target)) return [];
  return breach(`a browser imports only types of ${target}`);
}

function secondImporters(imports: readonly Import[]): Breach[] {
  return ONE_IMPORTER.flatMap((name) => {
    const importing = imports.filter(
      ({ target, path, isOurs }) => !isOurs && target === name && !isTest(path) && !path.startsWith('bench/'),
    );
    return importing
      .filter(({ path }) => path !== importing[0]?.path)
      .map(({ path, line }) => ({
        path,
        line,
        rule: `${importing[0]?.path} is the only file that may import ${name}`,
      }));
  });
}

function cycles(imports: readonly Import[]): Breach[] {
  const graph = new Map<string, Map<string, Import>>();
  for (const found of imports) if (found.isOurs) addEdge(graph, [found.path, found.target], found);
  return cyclesIn(graph).map(({ edge: { path, line }, nodes }) => ({
    path,
    line,
    rule: `import cycle: ${nodes}`,
  }));
}

function roomIndex(path: string): number {
  return ROOMS.findIndex((room) => path.startsWith(`${room}/`));
}
