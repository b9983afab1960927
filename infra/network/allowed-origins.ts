import { bareName } from './origin.ts';

/**
 * Decides whether a list of origins, such as the `cors` of a site, allows an origin. Scheme, `www.`, case and trailing slash do
 * not matter. `*` allows any origin, `*.example.com` any name below example.com but not that name itself. An empty origin is never allowed.
 *
 * A list is read once, by its identity, because each change of a record makes another one; a look-up then costs the same for one entry and
 * for a thousand.
 */
export class AllowedOrigins {
  readonly #lists = new WeakMap<readonly string[], OriginList>();

  allows(entries: readonly string[], origin: string): boolean {
    if (origin === '') return false;
    let list = this.#lists.get(entries);
    if (list === undefined) {
      list = new OriginList(entries);
      this.#lists.set(entries, list);
    }
    return list.allows(origin);
  }
}

class OriginList {
  readonly #isAny: boolean;
  readonly #names = new Set<string>();
  /** The rest of each entry with `*.` after its star: the dot stays, so that `*.example.com` does not allow evil-example.com. */
  readonly #endings = new Set<string>();
  readonly #longestEnding: number;

  constructor(entries: readonly string[]) {
    let isAny = false;
    let longest = 0;
    for (const entry of entries) {
      isAny ||= entry.trim() === '*';
      const name = bareName(entry);
      if (name.startsWith('*.')) {
        this.#endings.add(name.slice(1));
        longest = Math.max(longest, name.length - 1);
      } else if (name !== '') this.#names.add(name);
    }
    this.#isAny = isAny;
    this.#longestEnding = longest;
  }

  allows(origin: string): boolean {
    if (this.#isAny) return true;
    const name = bareName(origin);
    if (this.#names.has(name)) return true;
    if (this.#longestEnding === 0 || name.startsWith('.')) return false;
    // Not the whole name: its sender chooses the length.
    const start = Math.max(1, name.length - this.#longestEnding);
    for (let dot = name.indexOf('.', start); dot >= 0; dot = name.indexOf('.', dot + 1))
      if (this.#endings.has(name.slice(dot))) return true;
    return false;
  }
}
