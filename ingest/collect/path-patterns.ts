/**
 * Paths in which `*` is any run of characters, compiled once. Texts without a star, and with one at the end only, are looked up; the pieces
 * of any other pattern are searched from left to right, each after the one before. The first place of a piece is always as good as a later
 * one, so nothing is tried twice, and a pattern takes time proportional to its own length and the path's.
 */
export class PathPatterns {
  readonly #exact = new Set<string>();
  readonly #beginnings = new Set<string>();
  /** The lengths of `#beginnings`, without repeats. */
  readonly #lengths: readonly number[];
  readonly #others: readonly Pattern[];
  /** Events of a batch often have the same path. */
  #last = '';
  #isLastMatched = false;

  constructor(patterns: readonly string[]) {
    const others = new Map<string, Pattern>();
    for (const text of patterns) {
      const pattern = text.replace(/\*+/g, '*');
      const star = pattern.indexOf('*');
      if (star < 0) this.#exact.add(pattern);
      else if (star === pattern.length - 1) this.#beginnings.add(pattern.slice(0, -1));
      else others.set(pattern, compiled(pattern));
    }
    this.#lengths = [...new Set([...this.#beginnings].map(({ length }) => length))];
    this.#others = [...others.values()];
  }

  /** True if one of the patterns matches the whole path. */
  match(path: string): boolean {
    if (path !== this.#last) {
      this.#isLastMatched = this.#search(path);
      this.#last = path;
    }
    return this.#isLastMatched;
  }

  #search(path: string): boolean {
    if (this.#exact.has(path)) return true;
    for (const length of this.#lengths)
      if (length <= path.length && this.#beginnings.has(path.slice(0, length))) return true;
    for (const pattern of this.#others) if (matches(pattern, path)) return true;
    return false;
  }
}

interface Pattern {
  readonly first: string;
  readonly middle: readonly string[];
  readonly last: string;
  /** Characters of a path that matches, at least. */
  readonly length: number;
}

function compiled(pattern: string): Pattern {
  const pieces = pattern.split('*');
  return {
    first: pieces[0] ?? '',
    middle: pieces.slice(1, -1),
    last: pieces.at(-1) ?? '',
    length: pattern.length - pieces.length + 1,
  };
}

function matches({ first, middle, last, length }: Pattern, path: string): boolean {
  if (path.length < length || !path.startsWith(first) || !path.endsWith(last)) return false;
  let from = first.length;
  for (const piece of middle) {
    const at = path.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return from <= path.length - last.length;
}
