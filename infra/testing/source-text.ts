/** A source file taken apart, each part of the same length as the file, so that positions and lines agree. */
export interface SourceText {
  /** Without comments; texts kept. */
  readonly withTexts: string;
  /** Without comments and without what stands in quotes. */
  readonly code: string;
  /** Only the comments. */
  readonly comments: string;
}

type Kind = 'code' | 'text' | 'comment';

// A slash after one of these begins a regular expression, after anything else it divides.
const BEFORE_REGEX =
  /(?:^|[=(,[!&|?:;{}<>+\-*%~^]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$/;

/**
 * Tells code, texts and comments of a TypeScript or JavaScript file apart. Not a full lexer: what it cannot know from
 * the characters before a slash, it takes for a division.
 */
export function readSource(source: string): SourceText {
  const kinds: Kind[] = new Array<Kind>(source.length).fill('code');
  const mark = (from: number, to: number, kind: Kind) => kinds.fill(kind, from, to);
  // Depths of braces at which a `${` was opened: its closing brace leads back into the template.
  const templates: number[] = [];
  let depth = 0;
  let at = 0;
  const readTemplate = (from: number) => {
    const end = endOfTemplate(source, from);
    mark(from, end, 'text');
    if (source.startsWith('${', end)) {
      templates.push(depth);
      depth += 1;
      return end + 2;
    }
    return end + 1;
  };
  while (at < source.length) {
    const character = source[at];
    const pair = source.slice(at, at + 2);
    if (pair === '//' || pair === '/*') {
      const end = endOfComment(source, at, pair);
      mark(at, end, 'comment');
      at = end;
    } else if (character === "'" || character === '"') {
      const end = endOfQuoted(source, at + 1, character);
      mark(at + 1, end, 'text');
      at = end + 1;
    } else if (character === '`') {
      at = readTemplate(at + 1);
    } else if (character === '/' && BEFORE_REGEX.test(codeBefore(source, kinds, at))) {
      const end = endOfRegex(source, at + 1);
      mark(at + 1, end, 'text');
      at = end + 1;
    } else {
      if (character === '{') depth += 1;
      if (character === '}') depth -= 1;
      at += 1;
      if (character === '}' && templates.at(-1) === depth) {
        templates.pop();
        at = readTemplate(at);
      }
    }
  }
  return {
    withTexts: keep(source, kinds, ['code', 'text']),
    code: keep(source, kinds, ['code']),
    comments: keep(source, kinds, ['comment']),
  };
}

function keep(source: string, kinds: readonly Kind[], wanted: readonly Kind[]): string {
  let kept = '';
  for (let at = 0; at < source.length; at++) {
    const kind = kinds[at] ?? 'code';
    kept += source[at] === '\n' || wanted.includes(kind) ? source[at] : ' ';
  }
  return kept;
}

function codeBefore(source: string, kinds: readonly Kind[], at: number): string {
  let before = '';
  for (let back = at - 1; back >= 0 && before.trim().length < 12 && at - back < 400; back--) {
    if (kinds[back] !== 'comment') before = source[back] + before;
  }
  return before;
}

function endOfComment(source: string, at: number, opening: string): number {
  const end = opening === '//' ? source.indexOf('\n', at) : source.indexOf('*/', at + 2);
  if (end === -1) return source.length;
  return opening === '//' ? end : end + 2;
}

function endOfQuoted(source: string, from: number, quote: string): number {
  let at = from;
  while (at < source.length && source[at] !== quote && source[at] !== '\n') at += source[at] === '\\' ? 2 : 1;
  return Math.min(at, source.length);
}

function endOfTemplate(source: string, from: number): number {
  let at = from;
  while (at < source.length && source[at] !== '`' && !source.startsWith('${', at)) {
    at += source[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, source.length);
}

function endOfRegex(source: string, from: number): number {
  let inClass = false;
  let at = from;
  while (at < source.length && source[at] !== '\n' && (inClass || source[at] !== '/')) {
    if (source[at] === '[') inClass = true;
    if (source[at] === ']') inClass = false;
    at += source[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, source.length);
}
