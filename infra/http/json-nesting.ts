/** The deepest nesting of lists and objects in JSON of a request. What is read deeper would need a deeper stack. */
export const NESTING_MAX = 32;

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const LIST = '['.charCodeAt(0);
const LIST_END = ']'.charCodeAt(0);
const OBJECT = '{'.charCodeAt(0);
const OBJECT_END = '}'.charCodeAt(0);

/** Whether JSON is nested deeper than `max`, found in one pass before it is parsed. For a text that is no JSON, a guess. */
export function isNestedDeeper(text: string, max = NESTING_MAX): boolean {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isText) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) isText = false;
    } else if (code === QUOTE) isText = true;
    else if (code === LIST || code === OBJECT) {
      depth += 1;
      if (depth > max) return true;
    } else if (code === LIST_END || code === OBJECT_END) depth -= 1;
  }
  return false;
}
