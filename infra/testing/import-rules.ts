import { type Breach, type Import, importsOf, isTest, isTesting, type Tree } from './source-tree.ts';

/** Data flows to the right, knowledge to the left: a room imports only from rooms to its left. */
export const ROOMS = ['infra', 'ingest', 'processor', 'query', 'bench'] as const;

// The files of a room that other rooms may import. The rest is private to it.
export const CONTRACTS: readonly RegExp[] = [
  /^infra\/[^/]+\.ts$/,
  /^infra\/(accounts|bus|concurrency|http|network|object-store|process|store)\/[^/]+\.ts$/,
  /^ingest\/(event|session-lookup|entity-update|entity-lookup|track-schema)\.ts$/,
  /^processor\/(rows|hot|event-export|integration|erasure)\.ts$/,
];

// Adapters: exactly one file knows the package. The bench may measure against the bare package.
const ONE_IMPORTER = ['uWebSockets.js', 'chdb'];

/** Wrong arrows, imports of another room's private files, cycles, and packages that more than one file imports. */
export function importBreaches(tree: Tree): Breach[] {
  const imports = importsOf(tree);
  return [...imports.flatMap(judgeImport), ...cycles(imports), ...secondImporters(imports)];
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
        rule: `${importing[0]?.path} is the one file that imports ${name}`,
      }));
  });
}

/** Depth first; a file that is met again while still open closes a cycle, which is reported once. */
function cycles(imports: readonly Import[]): Breach[] {
  const targets = new Map<string, Import[]>();
  for (const found of imports.filter(({ isOurs }) => isOurs)) {
    targets.set(found.path, [...(targets.get(found.path) ?? []), found]);
  }
  const breaches: Breach[] = [];
  const done = new Set<string>();
  const open: string[] = [];
  const visit = (path: string) => {
    open.push(path);
    for (const { target, line } of targets.get(path) ?? []) {
      if (open.includes(target)) {
        const ring = [...open.slice(open.indexOf(target)), target].join(' → ');
        breaches.push({ path, line, rule: `imports go round: ${ring}` });
      } else if (!done.has(target)) visit(target);
    }
    open.pop();
    done.add(path);
  };
  for (const path of targets.keys()) if (!done.has(path)) visit(path);
  return breaches;
}

function roomIndex(path: string): number {
  return ROOMS.findIndex((room) => path.startsWith(`${room}/`));
}
