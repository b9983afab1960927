/** One element of a JSON array, by its place in the bytes, without surrounding white space. */
export interface JsonElement {
  readonly start: number;
  readonly end: number;
  /** How many levels of objects and arrays it has; 0 for a single value. */
  readonly depth: number;
}

/**
 * Finds the elements of a JSON array, one at a time and in linear time, so that each can be measured before it is parsed. `json` is UTF-8. The
 * array is valid JSON if every element is, and the end is `ended`.
 */
export class JsonElements {
  readonly #json: Uint8Array;
  #at: number;
  /** `open` until the array has ended, or turned out to be broken. */
  end: 'open' | 'ended' | 'broken' | 'no-array';
  #isFirst = true;

  constructor(json: Uint8Array) {
    this.#json = json;
    this.#at = pastSpace(json, 0);
    this.end = json[this.#at] === BRACKET ? 'open' : 'no-array';
    this.#at += 1;
  }

  /** The next element; undefined at the end. */
  next(): JsonElement | undefined {
    if (this.end !== 'open') return undefined;
    const json = this.#json;
    const start = pastSpace(json, this.#at);
    if (this.#isFirst && json[start] === BRACKET_END) {
      this.#close(start);
      return undefined;
    }
    this.#isFirst = false;
    let depth = 0;
    let deepest = 0;
    for (let at = start; at < json.length; at += 1) {
      const byte = json[at];
      if (byte === QUOTE) at = endOfText(json, at);
      else if (byte === BRACKET || byte === BRACE) {
        depth += 1;
        if (depth > deepest) deepest = depth;
      } else if (depth > 0) {
        if (byte === BRACKET_END || byte === BRACE_END) depth -= 1;
      } else if (byte === COMMA || byte === BRACKET_END || byte === BRACE_END) {
        if (byte === COMMA) this.#at = at + 1;
        else if (byte === BRACKET_END) this.#close(at);
        else this.end = 'broken';
        return { start, end: beforeSpace(json, start, at), depth: deepest };
      }
    }
    this.end = 'broken';
    return undefined;
  }

  /** Nothing may follow the bracket at `at`. */
  #close(at: number): void {
    this.end = pastSpace(this.#json, at + 1) >= this.#json.length ? 'ended' : 'broken';
  }
}

/** Whether JSON has more than `max` levels of objects and arrays. `text` is the same as `json`. */
export function isDeeperThan(max: number, json: Uint8Array, text: string): boolean {
  // Only what has more brackets can be deeper, and counting a few takes 0.2 µs for an event.
  if (hasAtMost(max, text)) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfText(json, at);
    else if (byte === BRACKET || byte === BRACE) {
      depth += 1;
      if (depth > max) return true;
    } else if (byte === BRACKET_END || byte === BRACE_END) depth -= 1;
  }
  return false;
}

/** Whether there are at most `max` opening brackets and braces in a text. */
function hasAtMost(max: number, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (++count > max) return false;
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (++count > max) return false;
  return true;
}

/** The index of the quote that closes the text beginning at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

function pastSpace(json: Uint8Array, from: number): number {
  let at = from;
  while (at < json.length && isSpace(json[at])) at += 1;
  return at;
}

function beforeSpace(json: Uint8Array, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(json[last - 1])) last -= 1;
  return last;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 9 || byte === 10 || byte === 13;
}

const QUOTE = 34;
const COMMA = 44;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACKET_END = 93;
const BRACE = 123;
const BRACE_END = 125;
