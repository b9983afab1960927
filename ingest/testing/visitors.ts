import { SeededRandom } from './random.ts';

/** One action of a visitor, `afterMs` after the previous one. */
export interface ModelStep {
  readonly afterMs: number;
  readonly name: string;
  /** Path with query. */
  readonly path: string;
  readonly title: string;
  /** Flat properties of a custom event. */
  readonly properties: Readonly<Record<string, string>>;
}

/** One visit to a site, as a browser would send it. */
export interface ModelVisit {
  readonly address: string;
  readonly userAgent: string;
  /** Empty for most visits: they are not logged in. */
  readonly profileId: string;
  /** The referrer of the first step; empty for a direct visit. */
  readonly referrer: string;
  readonly steps: readonly [ModelStep, ...ModelStep[]];
}

const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome';
const AGENTS: readonly [string, ...string[]] = [
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}/126.0.0.0 Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 10; K) ${CHROME}/126.0.0.0 Mobile Safari/537.36`,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
  `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${CHROME}/125.0.0.0 Safari/537.36`,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0',
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}/126.0.0.0 Safari/537.36 Edg/126.0.0.0`,
  `Mozilla/5.0 (Linux; Android 14; SM-S918B) ${CHROME}/125.0.6422.165 Mobile Safari/537.36`,
  'Mozilla/5.0 (iPad; CPU OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
  `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME}/124.0.0.0 Safari/537.36`,
];
const REFERRERS: readonly [string, ...string[]] = [
  '',
  'https://www.google.com/',
  '',
  'https://duckduckgo.com/',
  'https://news.ycombinator.com/item?id=40412345',
  'https://t.co/Ab3dE5',
  'https://www.bing.com/search?q=web+analytics',
  'https://www.reddit.com/r/selfhosted/',
  'https://chatgpt.com/',
  'https://mail.example.org/inbox/7781',
];
const PAGES: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['/', 'Home'],
  ['/pricing', 'Pricing'],
  ['/blog', 'Blog'],
  ['/docs/start', 'Getting started'],
  ['/blog/live-numbers', 'Live numbers, exactly'],
  ['/docs/events', 'Events'],
  ['/about', 'About us'],
  ['/docs/api', 'The API'],
  ['/blog/größe-zählt', 'Größe zählt'],
  ['/changelog', 'Changelog'],
  ['/shop/item-17', 'Item 17'],
  ['/contact', 'Contact'],
];
const CAMPAIGNS: readonly [string, ...string[]] = [
  'utm_source=newsletter&utm_medium=email&utm_campaign=june',
  'utm_source=google&utm_medium=cpc&utm_campaign=brand&utm_term=web%20analytics',
  'utm_source=partner&utm_medium=referral',
  'ref=producthunt',
];
const CUSTOM_EVENTS: readonly [string, ...string[]] = ['link_out', 'signup', 'video_play', 'search'];

/**
 * Realistic visits, the same for the same seed: a few pages get most of the views, half the visits see one page, some
 * come from campaigns, few are logged in, and visitors may return.
 */
export class VisitorModel {
  readonly #random: SeededRandom;
  readonly #visitors: number;

  /** `visitors` is the number of different visitors. */
  constructor(seed: number, visitors: number) {
    this.#random = new SeededRandom(seed);
    this.#visitors = visitors;
  }

  /** The next visit; `dwellMs` is the mean time on a page. */
  nextVisit(dwellMs = 40_000): ModelVisit {
    const random = this.#random;
    const visitor = Math.floor(random.next() ** 1.5 * this.#visitors);
    // A visitor's traits do not depend on when it comes, so they have a generator of their own.
    const traits = new SeededRandom(visitor * 2_654_435_761);
    const steps: [ModelStep, ...ModelStep[]] = [this.#landing()];
    while (steps.length < 40 && random.chance(steps.length === 1 ? 0.55 : 0.72))
      steps.push(this.#next(dwellMs));
    return {
      address: addressOf(visitor),
      userAgent: traits.favourite(AGENTS),
      profileId: traits.chance(0.08) ? `user-${visitor}` : '',
      referrer: random.favourite(REFERRERS),
      steps,
    };
  }

  #landing(): ModelStep {
    const [path, title] = this.#random.favourite(PAGES);
    const query = this.#random.chance(0.15) ? `?${this.#random.favourite(CAMPAIGNS)}` : '';
    return { afterMs: 0, name: 'screen_view', path: path + query, title, properties: {} };
  }

  #next(dwellMs: number): ModelStep {
    const random = this.#random;
    const [path, title] = random.favourite(PAGES);
    const afterMs = Math.round(random.waitMs(dwellMs));
    if (random.chance(0.85)) return { afterMs, name: 'screen_view', path, title, properties: {} };
    const name = random.favourite(CUSTOM_EVENTS);
    return {
      afterMs,
      name,
      path,
      title,
      properties: { label: `${name}-${random.integer(1, 9)}`, plan: 'free' },
    };
  }
}

/**
 * The first two bytes of networks of large providers, in the order of their number of visitors: each has a first byte of its own. The
 * countries are from the registries: US, DE, GB, FR, US, JP, IN, BR, CA, NL, ES, IT, AU, SE, PL.
 */
const NETWORKS = [
  [73, 0],
  [91, 0],
  [86, 128],
  [90, 0],
  [24, 0],
  [126, 0],
  [117, 192],
  [189, 0],
  [99, 224],
  [84, 24],
  [81, 32],
  [79, 0],
  [1, 128],
  [78, 64],
  [83, 0],
] as const;

/** A public address of its own for each of 2^24 visitors. */
function addressOf(visitor: number): string {
  // The first networks come up more often: of two draws the lower one.
  const turn = visitor % NETWORKS.length ** 2;
  const place = Math.min(turn % NETWORKS.length, Math.floor(turn / NETWORKS.length));
  const [first, second] = NETWORKS[place] ?? [81, 32];
  return `${first}.${(second + (visitor >> 16)) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`;
}
