import { must } from '../../infra/assert.ts';

/** The numbers of an event stream, as they come; and everything that came. */
export class Events {
  readonly numbers: number[] = [];
  text = '';
  isOver = false;
  readonly #abort = new AbortController();

  static async open(address: string, headers: Record<string, string> = {}): Promise<Events> {
    const events = new Events();
    const response = await fetch(address, { headers, signal: events.#abort.signal });
    if (response.headers.get('content-type') !== 'text/event-stream')
      throw new Error(`no events: ${response.status} ${await response.text()}`);
    void events.#read(response);
    return events;
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const chunk of must(response.body, 'a body')) {
        this.text += Buffer.from(chunk).toString('utf8');
        const found = this.text.match(/^data: .*$/gm) ?? [];
        this.numbers.length = 0;
        this.numbers.push(...found.map((line) => numberIn(line.slice(6))));
      }
    } catch {
      // Cut off, which is over as well.
    }
    this.isOver = true;
  }

  close(): void {
    this.#abort.abort();
  }
}

export function numberIn(text: string): number {
  return (JSON.parse(text) as { visitors: number }).visitors;
}

/** Every text that the widgets of a page have shown as numbers; the page asks for nothing outside its policy. */
export const RECORD_NUMBERS = `
  window.seen = [];
  const note = (root) => {
    const look = () => {
      const text = root.querySelector('.number')?.textContent;
      if (text !== undefined && text !== window.seen.at(-1)) window.seen.push(text);
    };
    new MutationObserver(look).observe(root, { subtree: true, childList: true, characterData: true });
  };
  const attach = HTMLElement.prototype.attachShadow;
  HTMLElement.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    note(root);
    return root;
  };
`;
