import { JsonScan } from '../../infra/http/json-nesting.ts';

/** One element of a JSON array, by its place in the bytes, without surrounding white space. */
export interface JsonElement {
  readonly start: number;
  readonly end: number;
  /** The number of levels of objects and arrays; 0 for a single value. */
  readonly depth: number;
}

/**
 * Finds the elements of a JSON array, one at a time and in linear time, so that each can be measured before it is parsed. `json` is UTF-8. The
 * array is valid JSON if every element is, and the end is `ended`. A large element takes several calls.
 */
export class JsonElements {
  readonly #json: Uint8Array;
  readonly #scan: JsonScan;
  #at: number;
  /** The start of the element whose end is not found yet; -1 between two elements. */
  #start = -1;
  /** `open` until the array has ended, or turned out to be broken. */
  end: 'open' | 'ended' | 'broken' | 'no-array';
  #isFirst = true;

  constructor(json: Uint8Array) {
    this.#json = json;
    this.#scan = new JsonScan(json);
    this.#at = pastSpace(json, 0);
    this.end = json[this.#at] === BRACKET ? 'open' : 'no-array';
    this.#at += 1;
  }

  /** The next element; undefined at the end, and while `end` is `open`, if more of it has to be read. */
  next(): JsonElement | undefined {
    if (this.end !== 'open') return undefined;
    const json = this.#json;
    const scan = this.#scan;
    if (this.#start < 0) {
      const begin = pastSpace(json, this.#at);
      if (this.#isFirst && json[begin] === BRACKET_END) {
        this.#close(begin);
        return undefined;
      }
      this.#isFirst = false;
      this.#start = begin;
      scan.begin(begin);
    }
    if (!scan.readOn()) return undefined;
    const start = this.#start;
    this.#start = -1;
    const { end, depth } = scan;
    if (end === json.length) {
      this.end = 'broken';
      return undefined;
    }
    const byte = json[end];
    if (byte === COMMA) this.#at = end + 1;
    else if (byte === BRACKET_END) this.#close(end);
    else this.end = 'broken';
    return { start, end: beforeSpace(json, start, end), depth };
  }

  /** Nothing may follow the bracket at `at`. */
  #close(at: number): void {
    this.end = pastSpace(this.#json, at + 1) >= this.#json.length ? 'ended' : 'broken';
  }
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

const COMMA = 44;
const BRACKET = 91;
const BRACKET_END = 93;
