import jsTokens, { type JSXToken, type Token } from 'js-tokens';

/** A source file in three views, each as long as the file, so that positions and lines agree. */
export interface SourceText {
  /** Without comments. */
  readonly withTexts: string;
  /** Without comments and the content of strings. */
  readonly code: string;
  /** Only the comments. */
  readonly comments: string;
}

/** Separates code, strings and comments of a TypeScript or JavaScript file; with `isMarkup`, one that may contain JSX. */
export function readSource(source: string, { isMarkup = false } = {}): SourceText {
  let withTexts = '';
  let code = '';
  let comments = '';
  const tokens: Iterable<Token | JSXToken> = isMarkup ? jsTokens(source, { jsx: true }) : jsTokens(source);
  for (const token of tokens) {
    const blank = blanked(token.value);
    const isComment = token.type.endsWith('Comment');
    withTexts += isComment ? blank : token.value;
    code += isComment ? blank : withoutContent(token);
    comments += isComment ? token.value : blank;
  }
  return { withTexts, code, comments };
}

/** A string or a regular expression with its delimiters, and spaces between them; any other token unchanged. */
function withoutContent(token: Token | JSXToken): string {
  const delimiters = delimitersOf(token);
  if (delimiters === undefined) return token.value;
  const { before, after } = delimiters;
  const end = token.value.length - after;
  return token.value.slice(0, before) + blanked(token.value.slice(before, end)) + token.value.slice(end);
}

function delimitersOf(
  token: Token | JSXToken,
): { readonly before: number; readonly after: number } | undefined {
  switch (token.type) {
    case 'StringLiteral':
    case 'NoSubstitutionTemplate':
    case 'TemplateTail':
      return { before: 1, after: token.closed ? 1 : 0 };
    case 'TemplateHead':
    case 'TemplateMiddle':
      return { before: 1, after: '${'.length };
    case 'RegularExpressionLiteral':
      return { before: 1, after: token.closed ? token.value.length - token.value.lastIndexOf('/') : 0 };
    case 'JSXText':
      return { before: 0, after: 0 };
    case 'JSXString':
      return { before: 1, after: token.closed ? 1 : 0 };
    default:
      return undefined;
  }
}

function blanked(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}
