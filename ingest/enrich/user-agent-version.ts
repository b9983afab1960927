import { cut } from './page.ts';

/**
 * The first numbers of a version, at most `parts` of them: `124.0.6367.82` with two parts is `124.0`. Empty when there
 * is none.
 */
export function leadingNumbers(version: string, parts: number): string {
  const numbers = /^\d+(?:\.\d+)*/.exec(version.replaceAll('_', '.'))?.[0] ?? '';
  return numbers.split('.', parts).join('.');
}

const FIELD_MAX = 64;
const CONTROLS_AND_LONE_SURROGATES = /[\p{Cc}\p{Cs}]/gu;

/** A name or a version for the store: cut to 64 characters, without control characters and lone surrogates. */
export function storableText(text: string): string {
  return cut(text.replace(CONTROLS_AND_LONE_SURROGATES, ''), FIELD_MAX);
}

/** User agents are cut to this length first; no real one is longer. */
export const USER_AGENT_MAX = 1024;
