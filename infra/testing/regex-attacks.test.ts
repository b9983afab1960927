import { createContext, runInContext } from 'node:vm';
import jsTokens from 'js-tokens';
import { expect, test } from 'vitest';
import { projectRoot } from '../root.ts';
import { attacksOn } from './regex-attacks.ts';
import { isTest, isTesting, readTree } from './source-tree.ts';

/** Twice the longest head of a request. */
const LENGTH = 131_072;
/** Time of the processor, so that other work on the machine does not count. A linear search takes a tenth of it at most. */
const CPU_MAX_MS = 700;
const TIMEOUT_MS = 2_000;
/** An attack is tried with fewer characters first. */
const SHORT = 16_384;
const SUSPECT_MS = 2;

/** Programs that read texts of the operator, a package or the machine, and no text of a request. */
const NOT_FROM_STRANGERS =
  /^(?:infra\/(?:launch|operations)\/|(?:ingest|query|infra)\/(?:\w+\/)?build-[\w-]+\.mjs$)/;

/** Expressions that are not linear, and why no stranger's text can be long where they read it. */
const BOUNDED: readonly (readonly [where: string, why: string])[] = [
  ['infra/money.ts: /0+$/', 'the decimals of a currency'],
  [
    'infra/store/cluster-text.ts: /((?:^|\\))\\s*ENGINE = )(\\w*MergeTree)(?:\\(([^)\\n]*)\\))?/m',
    'statements of this repository',
  ],
  [
    'infra/store/cluster-text.ts: /\\bSETTINGS ((?:\\w+ = \\w+(?:,\\s*)?)+)$/',
    'statements of this repository',
  ],
  ['infra/store/migrate.ts: /^\\s*--.*$/gm', 'files of this repository'],
  ['ingest/enrich/bot.ts: /[\\s-]+(?:v?\\d[\\w.]*)?[\\s-]*$/', 'a name of 61 characters'],
  ['ingest/enrich/location-record.ts: /(?<=\\S)\\s*\\(.*\\)$/', 'a city of the geolocation database'],
  ['processor/main.ts: /\\d+$/', 'a subject with the number of a lane'],
  [
    'query/sql/relations.ts: /\\$(EVENTS|SESSIONS|SCANNED_SESSIONS)\\[(.*?)\\]\\$/gs',
    'statements of this repository',
  ],
];

const context = createContext({ regex: /x/, text: '' });

/** True if reading a text to its end, like `split` and `matchAll` do, takes more time than `maxMs`. */
function takesLonger(regex: RegExp, text: string, maxMs: number): boolean {
  Object.assign(context, { regex, text });
  for (let timeout = TIMEOUT_MS; ; timeout *= 2) {
    const before = process.cpuUsage();
    const isDone = isReadWithin(timeout);
    if (process.cpuUsage(before).user / 1_000 > maxMs) return true;
    if (isDone) return false;
  }
}

function isReadWithin(timeout: number): boolean {
  try {
    runInContext("regex.lastIndex = 0; text.replace(regex, '')", context, { timeout });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}

/** An attack that an expression does not survive. */
function slowOn(regex: RegExp): string | undefined {
  const longer = attacksOn(regex, LENGTH);
  return attacksOn(regex, SHORT)
    .flatMap((text, index) => (takesLonger(regex, text, SUSPECT_MS) ? [longer[index] ?? ''] : []))
    .find((text) => takesLonger(regex, text, CPU_MAX_MS));
}

const sources = [...readTree(projectRoot)].filter(
  ([path]) =>
    /^(?:infra|ingest|processor|query)\/.*\.(?:ts|tsx|mjs|js)$/.test(path) &&
    !isTest(path) &&
    !isTesting(path) &&
    !NOT_FROM_STRANGERS.test(path),
);

/** Every literal by its first place in the tree. */
function literalsOf(files: typeof sources): Map<string, RegExp> {
  const literals = new Map<string, RegExp>();
  const texts = new Set<string>();
  for (const [path, source] of files)
    for (const token of path.endsWith('x') ? jsTokens(source, { jsx: true }) : jsTokens(source)) {
      if (token.type !== 'RegularExpressionLiteral' || texts.has(token.value)) continue;
      texts.add(token.value);
      const end = token.value.lastIndexOf('/');
      const regex = new RegExp(token.value.slice(1, end), token.value.slice(end + 1));
      literals.set(`${path}: ${token.value}`, regex);
    }
  return literals;
}

test('every regular expression reads a hostile text in linear time', { timeout: 300_000 }, () => {
  const literals = literalsOf(sources);
  expect(literals.size).toBeGreaterThan(350);
  for (const [where] of BOUNDED) expect(literals.delete(where), where).toBe(true);
  const slow = [...literals].filter(([, regex]) => slowOn(regex) !== undefined);
  expect(slow.map(([where]) => where)).toEqual([]);
});

test('expressions that are made at run time are known: a list of colours, and the names of crawlers', () => {
  const made = sources.filter(([, source]) => /\bnew RegExp\(|(?<![.\w])RegExp\(/.test(source));
  expect(made.map(([path]) => path).sort()).toEqual(['ingest/enrich/bot.ts', 'query/live/live-api.ts']);
});

test.each([
  [/\/+$/, true],
  [/^for=\s*(?:"[^"]*"|[^"\s]*)\s*$/, true],
  [/"(?:[^"\\]|\\.)*";$/, false],
  [/^\/+/, false],
  [/[a-z]{1,20}$/, false],
])('%s is slow: %s', { timeout: 60_000 }, (regex, isSlow) => {
  expect(slowOn(regex) !== undefined).toBe(isSlow);
});
