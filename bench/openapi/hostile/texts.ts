/** Texts of one repeated unit, which parsers and regular expressions dislike. Names are shown in reports. */
export const UNITS = {
  letters: 'a',
  digits: '9',
  slashes: '/',
  spaces: ' ',
  tabs: '\t',
  newlines: '\n',
  percents: '%',
  'broken escapes': '%E0%A4%A',
  'zero escapes': '%00',
  'broken names': '%E0&',
  stars: '*',
  dots: '.',
  'opened parentheses': '(',
  'opened brackets': '[',
  'closed brackets': ']',
  'empty brackets': '[]',
  'opened braces': '{',
  'double quotes': '"',
  'single quotes': "'",
  backslashes: '\\',
  zeros: '\u0000',
  'combining marks': '\u0301',
  surrogates: '\ud800',
  emoji: '\u{1f600}',
  colons: ':',
  commas: ',',
  semicolons: ';',
  equals: '=',
  ampersands: '&',
  'question marks': '?',
  hashes: '#',
  ats: '@',
  hyphens: '-',
  pluses: '+',
  pipes: '|',
  pairs: 'a=1&',
  'list entries': 'a, ',
  'quoted pairs': 'a="b";',
  labels: 'a.',
  versions: 'A/1 ',
  words: 'Ab ',
  'prototype keys': '__proto__.',
  regexes: '(a*)*',
  tags: '<a ',
} as const;
export type UnitName = keyof typeof UNITS;
export const UNIT_NAMES = Object.keys(UNITS) as UnitName[];

/**
 * Text around the units. A suffix that no pattern expects makes backtracking visible; the prefixes let a text pass
 * the first check of a URL, a path or a list.
 */
export const WRAPS = [
  ['', ''],
  ['', 'x'],
  ['x', 'x'],
  ['https://a.example/', 'x'],
  ['https://', 'x'],
  ['/?', 'x'],
  ['/?utm_source=', 'x'],
  ['"', '"'],
  ['for=', 'x'],
  ['Mozilla/5.0 (', ') x'],
] as const;
/** The most effective wrap: nothing in front, and an end that fits nothing. */
export const PLAIN_WRAP = 1;

/** Nested texts and their depths: at usual limits, just beyond them, and far beyond any stack. */
export const DEPTHS = [5, 32, 33, 1_000, 25_000] as const;
export const NESTS = {
  arrays: ['[', ']', '1'],
  objects: ['{"a":', '}', '1'],
  mixed: ['[{"a":', '}]', '1'],
  parentheses: ['(', ')', 'A'],
  unclosed: ['[', '', ''],
} as const;
export type NestName = keyof typeof NESTS;
export const NEST_NAMES = Object.keys(NESTS) as NestName[];

/** Numbers as they are written in JSON or in a query; the last ones are no numbers in JSON. */
export const NUMBERS = [
  '0',
  '-0',
  '-1',
  '0.1',
  '1e-320',
  '1e308',
  '-1e308',
  '1e400',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740993',
  // The highest safe integer, in hundredths.
  '90071992547409.91',
  '90071992547409',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  '253402300800000',
  '-62135596800001',
  `1${'0'.repeat(300)}`,
  'NaN',
  'Infinity',
  '0x10',
] as const;

/** Keys that plain objects already have. */
export const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'] as const;

/** `length` UTF-16 units of one repeated text, wraps included. */
export function longText(
  unit: string,
  length: number,
  [prefix, suffix] = WRAPS[0] as readonly string[],
): string {
  const [before = '', after = ''] = [prefix, suffix];
  const inner = Math.max(0, length - before.length - after.length);
  const repeated = unit.repeat(Math.ceil(inner / unit.length));
  return before + repeated.slice(0, inner) + after;
}

/** Nests to `depth`, or as deep as `bytes` allow. */
export function nestedText(nest: NestName, depth: number, bytes: number): string {
  const [open, close, inner] = NESTS[nest];
  const possible = Math.floor((bytes - inner.length) / (open.length + close.length));
  const times = Math.min(depth, possible);
  return open.repeat(times) + inner + close.repeat(times);
}
