/** The deepest nesting of lists and objects in JSON of a request. Deeper values would need a deeper stack. */
export const NESTING_MAX = 32;

const QUOTE = 34;
const COMMA = 44;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACKET_END = 93;
const BRACE = 123;
const BRACE_END = 125;

/**
 * True if JSON is nested deeper than `max`, found in linear time before it is parsed. For invalid JSON, a guess. A caller that has the text
 * in UTF-8 saves its encoding.
 */
export function isNestedDeeper(text: string, max = NESTING_MAX, bytes?: Uint8Array): boolean {
  // Only a text with more brackets can be deeper, and counting a few takes 0.2 µs for an event.
  if (hasAtMost(max, text)) return false;
  const scan = new JsonScan(bytes ?? Buffer.from(text));
  scan.begin(0);
  while (scan.depth <= max && !scan.readOn());
  return scan.depth > max;
}

/** Bytes of a value that are read in one step. */
const STEP_BYTES = 65_536;

/**
 * Walks values of JSON in UTF-8 without parsing them, a step at a time, so that a long one keeps no other work from its
 * turn. After the first wrong byte, its findings are a guess. The numbers of a value are fields, since this is the hot
 * path of batches.
 */
export class JsonScan {
  /**
   * The index of the comma or the closing bracket after the value, or the length of the JSON; until then, the length of
   * the part read so far.
   */
  end = 0;
  /** The deepest level of objects and arrays in the value so far; 0 for a single one. */
  depth = 0;
  /** The level at `end`. */
  #level = 0;
  /** True if `end` is within a text. */
  #isText = false;
  readonly #json: Uint8Array;

  constructor(json: Uint8Array) {
    this.#json = json;
  }

  /** Begins a value at `from`. */
  begin(from: number): void {
    this.end = from;
    this.depth = 0;
    this.#level = 0;
    this.#isText = false;
  }

  /** Reads one step more of the value. True: it has ended. The loop does not compare the depth with a limit: that costs batches 3 %. */
  readOn(): boolean {
    const json = this.#json;
    let level = this.#level;
    let deepest = this.depth;
    let at = this.end;
    let isOver = false;
    const limit = Math.min(json.length, at + STEP_BYTES);
    if (this.#isText) {
      at = endOfText(json, at, limit);
      this.#isText = at >= limit;
      // After the closing quote.
      if (!this.#isText) at += 1;
    }
    for (; at < limit; at += 1) {
      const byte = json[at];
      if (byte === QUOTE) {
        at = endOfText(json, at + 1, limit);
        if (at < limit) continue;
        this.#isText = true;
        break;
      }
      if (byte === BRACKET || byte === BRACE) {
        level += 1;
        if (level > deepest) deepest = level;
      } else if (level > 0) {
        if (byte === BRACKET_END || byte === BRACE_END) level -= 1;
      } else if (byte === COMMA || byte === BRACKET_END || byte === BRACE_END) {
        isOver = true;
        break;
      }
    }
    this.end = Math.min(at, json.length);
    this.depth = deepest;
    this.#level = level;
    return isOver || this.end === json.length;
  }
}

/** True if a text has at most `max` opening brackets and braces. */
function hasAtMost(max: number, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (++count > max) return false;
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (++count > max) return false;
  return true;
}

/** The index of the quote that closes the text around `from`; `limit` or the byte after it if the text continues there. */
function endOfText(json: Uint8Array, from: number, limit: number): number {
  let at = from;
  while (at < limit && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
