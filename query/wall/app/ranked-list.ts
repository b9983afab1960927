import { part } from './part.ts';

/** A row, and the name by which it is the same row in the next answer. */
interface NowRow {
  readonly name: string;
  readonly label: string;
  readonly visitors: number;
}

interface ShownRow {
  readonly line: HTMLLIElement;
  readonly bar: HTMLElement;
  readonly count: HTMLElement;
}

const MOVE_MS = 700;

/** A list whose rows move to their new places, to show at a glance which ones rise. Without motion if the user prefers less. */
export class RankedList {
  readonly #list: HTMLElement;
  readonly #none: HTMLElement;
  readonly #max: number;
  readonly #format: (value: number) => string;
  readonly #shown = new Map<string, ShownRow>();
  readonly #stillness = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(id: string, max: number, format: (value: number) => string) {
    this.#list = part(id);
    this.#none = part(`${id}-none`);
    this.#max = max;
    this.#format = format;
  }

  show(rows: readonly NowRow[]): void {
    const top = rows.slice(0, this.#max);
    const before = new Map([...this.#shown].map(([name, { line }]) => [name, topOf(line)]));
    const wanted = new Set(top.map(({ name }) => name));
    for (const [name, { line }] of this.#shown) {
      if (wanted.has(name)) continue;
      line.remove();
      this.#shown.delete(name);
    }
    const most = Math.max(1, ...top.map(({ visitors }) => visitors));
    for (const { name, label, visitors } of top) {
      const row = this.#rowOf(name, label);
      row.count.textContent = this.#format(visitors);
      row.bar.style.inlineSize = `${(visitors / most) * 100}%`;
      this.#list.append(row.line);
    }
    this.#none.textContent = 'No visitors now.';
    this.#none.hidden = top.length > 0;
    if (!this.#stillness.matches) for (const { name } of top) this.#move(name, before.get(name));
  }

  /** Shows that the rows are not known. */
  clear(): void {
    this.show([]);
    this.#none.textContent = '–';
  }

  #rowOf(name: string, label: string): ShownRow {
    const known = this.#shown.get(name);
    if (known !== undefined) return known;
    const line = document.createElement('li');
    const [bar, text, count] = [made('bar'), made('name'), made('count')];
    text.textContent = label;
    line.append(bar, text, count);
    const row = { line, bar, count };
    this.#shown.set(name, row);
    return row;
  }

  #move(name: string, fromTop: number | undefined): void {
    const line = this.#shown.get(name)?.line;
    if (line === undefined) return;
    const timing = { duration: MOVE_MS, easing: 'ease-in-out' };
    if (fromTop === undefined) line.animate([{ opacity: 0 }, { opacity: 1 }], timing);
    else if (fromTop !== topOf(line))
      line.animate(
        [{ transform: `translateY(${fromTop - topOf(line)}px)` }, { transform: 'translateY(0)' }],
        timing,
      );
  }
}

/** The place of a row in its list, whatever moves it at the moment. */
function topOf(line: HTMLElement): number {
  return line.offsetTop;
}

function made(name: string): HTMLElement {
  const element = document.createElement('span');
  element.className = name;
  return element;
}
