import { ROOMS } from './import-rules.ts';
import { type Breach, findAll, isTest, isTesting, sourcesOf, type Tree } from './source-tree.ts';

const LINES_MAX = 450;
const VAGUE_NAMES = /(^|\/)(lib|utils?|common|helpers?|shared)(\/|\.[a-z]+$)/;
// Files that may read the environment: the settings table, programs that run before the build (`.mjs`), and starters of test
// processes. The two other files read a mark of the process that started them, which is not a setting. Passing the
// whole environment to a process (`...process.env`) does not count as reading.
const ENVIRONMENT =
  /^(infra\/(config\.ts|process\/parent-watch\.ts|store-server\/threads\.ts|launch\/[\w/-]+\.mjs$|testing\/)|bench\/cluster\/cluster\.ts)/;
// Words of analytics, which infra must not know. Whole words only, also within camelCase.
const ANALYTICS =
  /(?<![a-zA-Z])(hit|visitor|bounce)s?(?![a-z])|(?<=[a-z])(Hit|Visitor|Bounce)s?(?![a-z])|(?<![a-zA-Z])(Hit|Visitor|Bounce)s?(?![a-z])/g;
// In pieces, so that this file does not break its own rule.
const REGISTRY_HOSTS = [
  ['registry', 'npmjs'],
  ['registry', 'yarnpkg'],
  ['npmmirror', 'com'],
  ['deb', 'debian', 'org'],
  ['archive', 'ubuntu', 'com'],
  ['proxy', 'golang', 'org'],
].map((pieces) => pieces.join('.'));

/** Rules about names, sizes and words in single files. */
export function textBreaches(tree: Tree): Breach[] {
  return [...tree]
    .flatMap(([path, content]) => [...namedBadly(path), ...namesRegistry(path, content)])
    .concat(
      [...sourcesOf(tree)].flatMap(([path, { code, withTexts, comments }]) => [
        ...tooLong(path, code),
        ...findAll(path, comments, /\b(TODO|FIXME)\b/g, 'comments do not contain open work'),
        ...findAll(
          path,
          code,
          /\b(describe|test|it|suite)(\.\w+)*\.only\b/g,
          'test.only skips the other tests',
        ),
        ...findAll(path, code, /(?<![.#\w$])any\b(?!\s*[(:=?.'])/g, 'the type `any` disables type checking'),
        ...readsEnvironment(path, code),
        ...knowsAnalytics(path, withTexts),
        ...barrel(path, withTexts),
        ...declaresDuration(path, code),
      ]),
    );
}

/** Every room that holds code has a README. */
export function missingReadmes(tree: Tree): Breach[] {
  return ROOMS.filter((room) => [...tree.keys()].some((path) => path.startsWith(`${room}/`)))
    .filter((room) => !tree.has(`${room}/README.md`))
    .map((room) => ({ path: `${room}/README.md`, line: 1, rule: 'every room has a README' }));
}

function namedBadly(path: string): Breach[] {
  if (VAGUE_NAMES.test(path)) return [{ path, line: 1, rule: 'the name is vague: name the thing' }];
  return [];
}

function namesRegistry(path: string, content: string): Breach[] {
  return REGISTRY_HOSTS.filter((host) => content.includes(host)).map((host) => ({
    path,
    line: content.slice(0, content.indexOf(host)).split('\n').length,
    rule: 'names the host of a package registry',
  }));
}

function tooLong(path: string, code: string): Breach[] {
  const lines = code.split('\n').length;
  return lines > LINES_MAX
    ? [{ path, line: LINES_MAX, rule: `${lines} lines; the maximum is ${LINES_MAX}` }]
    : [];
}

// Programs in a browser import no values from the server's rooms, so their length of a day is their own.
const DURATIONS = /^(infra\/durations\.ts|(query\/(dashboard|wall)\/app|query\/widget|ingest\/tracker)\/)/;

function declaresDuration(path: string, code: string): Breach[] {
  if (DURATIONS.test(path)) return [];
  return findAll(
    path,
    code,
    /\bconst (MINUTE|HOUR|DAY)_MS\b|(?<![\d_])(3_600_000|86_400_000)(?![\d_n])/g,
    'infra/durations.ts declares how long an hour and a day are',
  );
}

function readsEnvironment(path: string, code: string): Breach[] {
  if (ENVIRONMENT.test(path) || isTest(path) || isTesting(path)) return [];
  return findAll(
    path,
    code,
    /(?<!\.\.\.)\bprocess\s*\.\s*env\b/g,
    'only infra/config.ts reads the environment',
  );
}

function knowsAnalytics(path: string, withTexts: string): Breach[] {
  // Tests of whole processes may name what these count.
  if (!path.startsWith('infra/') || isTest(path) || isTesting(path)) return [];
  return findAll(path, withTexts, ANALYTICS, 'infra does not know analytics');
}

function barrel(path: string, withTexts: string): Breach[] {
  const rule = 'no barrels: import from the file that defines the thing';
  if (/(^|\/)index\.m?[tj]s$/.test(path)) return [{ path, line: 1, rule }];
  return findAll(path, withTexts, /^export\s*\*\s*(as\s+\w+\s+)?from\s*['"]\./gm, rule);
}
