/**
 * The size in bytes of each element of a JSON array as it was sent, without surrounding white space. `json` is UTF-8
 * that has already been parsed and is an array. Scanning the bytes costs no more than serializing the elements again,
 * and works for elements that are nested too deeply for that.
 */
export function elementSizes(json: Uint8Array): readonly number[] {
  const sizes: number[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfText(json, at);
    else if (byte === BRACKET || byte === BRACE) {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (byte === BRACKET_END || byte === BRACE_END) {
      if (depth === 1) sizes.push(sizeBetween(json, start, at));
      depth -= 1;
    } else if (byte === COMMA && depth === 1) {
      sizes.push(sizeBetween(json, start, at));
      start = at + 1;
    }
  }
  // White space alone between the brackets is no element.
  return sizes.length === 1 && sizes[0] === 0 ? [] : sizes;
}

/** The index of the quote that closes the text beginning at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

function sizeBetween(json: Uint8Array, start: number, end: number): number {
  let first = start;
  let last = end - 1;
  while (first <= last && isSpace(json[first])) first += 1;
  while (last >= first && isSpace(json[last])) last -= 1;
  return last - first + 1;
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
