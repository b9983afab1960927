import { follow } from './connection.ts';
import type { PageElement, WidgetPage } from './page.ts';
import { PRESET_COLORS } from './presets.ts';

declare const document: WidgetPage['document'];
declare const location: WidgetPage['location'];
declare const customElements: WidgetPage['customElements'];
declare const CSSStyleSheet: WidgetPage['CSSStyleSheet'];
declare const HTMLElement: WidgetPage['HTMLElement'];
declare const getComputedStyle: WidgetPage['getComputedStyle'];

/** A reader of the page aloud hears the number this often at most. */
const SPOKEN_EVERY_MS = 60_000;
const DETAILS_EVERY_MS = 10_000;
const PAGES_MAX = 5;
const WIDTH = 120;
const HEIGHT = 28;
/** Shown until a number is known. Never a zero that is not true. */
const UNKNOWN = '–';
const SVG = 'http://www.w3.org/2000/svg';

const STYLE = `:host{display:inline-block;vertical-align:middle;color:var(--live-visitors-color,inherit);font-variant-numeric:tabular-nums}
:host([hidden]){display:none}
.row{display:inline-flex;align-items:center;gap:.45em;white-space:nowrap}
.row.badge{padding:.2em .7em;border-radius:1em;background:var(--live-visitors-background,${PRESET_COLORS.badgeBackground});color:var(--live-visitors-color,${PRESET_COLORS.badgeText})}
.dot{inline-size:.55em;block-size:.55em;border-radius:50%;background:var(--live-visitors-dot,${PRESET_COLORS.dot})}
.badge .dot{background:var(--live-visitors-dot,${PRESET_COLORS.badgeDot})}
.off{opacity:.35}
.number{min-inline-size:3ch;text-align:end;font-weight:600}
svg{display:block;inline-size:${WIDTH}px;block-size:${HEIGHT}px;fill:none;stroke:var(--live-visitors-line,currentColor);stroke-width:1.5}
ol{margin:.4em 0 0;padding:0;list-style:none;min-block-size:${PAGES_MAX * 1.5}em;inline-size:16em;max-inline-size:100%;line-height:1.5}
li{display:flex;justify-content:space-between;gap:1em}
li span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.spoken{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media(prefers-reduced-motion:no-preference){.dot:not(.off){animation:beat 2s infinite}@keyframes beat{50%{opacity:.45}}}`;

interface Details {
  readonly pages?: readonly { readonly path: string; readonly visitors: number }[];
  readonly minutes?: readonly { readonly visitors: number }[];
}

type Parts = Record<'dot' | 'number' | 'label' | 'spoken' | 'more', PageElement>;

const script = document.currentScript;

/** `<live-visitors site="…">`, described in README.md. */
class LiveVisitors extends HTMLElement {
  static readonly observedAttributes: readonly string[] = ['site', 'host', 'look', 'label', 'token'];
  #parts: Parts | undefined;
  #format = (value: number) => String(value);
  #unfollow: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #spokenAtMs = 0;
  readonly #onVisibility = () => this.#resume();

  connectedCallback(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#draw();
    this.#resume();
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#pause();
  }

  /** Another token reconnects and leaves the shown data, so a page renews it without a dash in between. */
  attributeChangedCallback(name: string): void {
    if (!this.#parts || !this.isConnected) return;
    if (name !== 'token') this.#draw();
    this.#resume();
  }

  #draw(): void {
    const look = this.getAttribute('look') || 'number';
    const root = this.#root();
    const parts = {
      dot: made('span', 'dot off'),
      number: made('span', 'number'),
      label: made('span', 'label'),
      spoken: made('span', 'spoken'),
      more: look === 'pages' ? made('ol', 'pages') : document.createElementNS(SVG, 'svg'),
    };
    const row = made('span', `row ${look}`);
    parts.number.textContent = UNKNOWN;
    parts.label.textContent = this.#label();
    parts.spoken.setAttribute('role', 'status');
    row.setAttribute('aria-hidden', 'true');
    row.append(...(look === 'number' ? [parts.number] : [parts.dot, parts.number, parts.label]));
    const hasMore = look === 'sparkline' || look === 'pages';
    if (look === 'sparkline') {
      parts.more.setAttribute('part', 'line');
      parts.more.setAttribute('aria-hidden', 'true');
      parts.more.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    }
    root.replaceChildren(row, parts.spoken, ...(hasMore ? [parts.more] : []));
    this.#parts = parts;
    this.#spokenAtMs = 0;
    const language = this.closest('[lang]')?.lang;
    try {
      const { format } = new Intl.NumberFormat(language || undefined);
      this.#format = format;
    } catch {
      // Not the name of a language: the number stays as it is.
    }
  }

  #shadow: (PageElement & { adoptedStyleSheets?: readonly unknown[] }) | undefined;
  /** The styles are a sheet of the script's own, which the policy of a page does not forbid. */
  #root(): PageElement {
    if (this.#shadow) return this.#shadow;
    const shadow = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    this.#shadow = shadow;
    return shadow;
  }

  #label(): string {
    return this.getAttribute('label') || 'live now';
  }

  #pause(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    clearTimeout(this.#timer);
  }

  /** Follows the site's number while the page is seen. */
  #resume(): void {
    this.#pause();
    const site = this.getAttribute('site');
    if (document.hidden || !site) return;
    const host = this.getAttribute('host');
    const base = host ? new URL(host.replace(/\/?$/, '/'), location.href) : new URL('.', script?.src);
    const url = `${base.href}live/${encodeURIComponent(site)}`;
    const token = this.getAttribute('token');
    const query = token ? `?token=${encodeURIComponent(token)}` : '';
    this.#unfollow = follow(url, query, (visitors) => this.#show(visitors));
    const look = this.getAttribute('look');
    if (look === 'sparkline' || look === 'pages')
      void this.#detail(`${url}.json${query}${query ? '&' : '?'}details=true`);
  }

  #show(visitors: number): void {
    const { number, dot, spoken } = this.#parts as Parts;
    const text = this.#format(visitors);
    number.textContent = text;
    dot.setAttribute('class', visitors ? 'dot' : 'dot off');
    const nowMs = Date.now();
    if (nowMs - this.#spokenAtMs < SPOKEN_EVERY_MS) return;
    this.#spokenAtMs = nowMs;
    spoken.textContent = `${text} ${this.#label()}`;
  }

  async #detail(url: string): Promise<void> {
    const followed = this.#unfollow;
    try {
      const response = await fetch(url);
      if (response.ok && followed === this.#unfollow) this.#showDetails((await response.json()) as Details);
    } catch {
      // The shown data stays.
    }
    if (followed && followed === this.#unfollow)
      this.#timer = setTimeout(() => void this.#detail(url), DETAILS_EVERY_MS);
  }

  #showDetails({ pages = [], minutes = [] }: Details): void {
    const { more } = this.#parts as Parts;
    if (this.getAttribute('look') === 'pages') {
      const rows = pages.slice(0, PAGES_MAX).map(({ path, visitors }) => {
        const row = made('li', 'page');
        const [name, count] = [made('span', 'path'), made('span', 'count')];
        name.textContent = path;
        count.textContent = this.#format(visitors);
        row.append(name, count);
        return row;
      });
      more.replaceChildren(...rows);
      return;
    }
    const isLeftward = getComputedStyle(this).direction === 'rtl';
    const most = Math.max(1, ...minutes.map(({ visitors }) => visitors));
    const points = minutes.map(({ visitors }, index) => {
      const x = (index / Math.max(1, minutes.length - 1)) * WIDTH;
      return `${(isLeftward ? WIDTH - x : x).toFixed(1)},${(HEIGHT - 2 - (visitors / most) * (HEIGHT - 4)).toFixed(1)}`;
    });
    const line = document.createElementNS(SVG, 'polyline');
    line.setAttribute('points', points.join(' '));
    more.replaceChildren(line);
  }
}

/** An element whose part has the first of its class names. */
function made(tag: string, classes: string): PageElement {
  const element = document.createElement(tag);
  element.setAttribute('class', classes);
  element.setAttribute('part', classes.split(' ')[0] ?? '');
  return element;
}

if (!customElements.get('live-visitors')) customElements.define('live-visitors', LiveVisitors);
