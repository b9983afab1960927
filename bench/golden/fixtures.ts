/** The material of the traffic. */
export interface GoldenSite {
  readonly id: string;
  readonly zone: string;
  readonly currency: string;
  /** True if the hash of an address is part of its page. */
  readonly hashChanges?: boolean;
}

export const SITES: readonly GoldenSite[] = [
  { id: 'utc', zone: 'UTC', currency: 'USD' },
  { id: 'berlin', zone: 'Europe/Berlin', currency: 'EUR', hashChanges: true },
  { id: 'kolkata', zone: 'Asia/Kolkata', currency: 'KWD' },
  { id: 'st-johns', zone: 'America/St_Johns', currency: 'JPY' },
];
/** A site that is never asked about: its traffic keeps flushes, merges and rollups going. */
export const BUSY_SITE: GoldenSite = { id: 'busy', zone: 'UTC', currency: 'USD' };

export const GROUPS = ['acme', 'größe & co', 'zebra'] as const;
export const WORDS = ['basic', 'pro', 'ÄRGER', 'x', '7', '12.5'] as const;
export const ORIGINS = ['https://shop.example', 'https://www.blog.example', ''] as const;
export const PAGES = [
  '/',
  '/pricing',
  '/docs/a b',
  '/docs/größe',
  '/buy',
  '/contact',
  '/jobs/1',
  '/jobs/2',
  '/a%20b',
] as const;
export const REFERRERS = [
  'https://www.google.com/',
  'https://duckduckgo.com/',
  'https://news.ycombinator.com/item?id=1',
  'https://www.youtube.com/watch',
  'https://mail.google.com/',
  'https://partner.example/review',
  'https://shop.example/earlier',
] as const;
export const CAMPAIGNS = [
  'utm_source=google&utm_medium=cpc&utm_campaign=autumn&utm_term=shoes',
  'utm_source=newsletter&utm_medium=email&utm_campaign=autumn&utm_content=top',
  'utm_source=facebook&utm_medium=social&utm_content=bottom',
  'ref=partner',
  'gclid=123',
] as const;
/** Addresses of several countries, and an unknown one. */
export const ADDRESSES = [
  '8.8.8.8',
  '81.2.69.142',
  '',
  '89.160.20.112',
  '1.1.1.1',
  '200.160.2.3',
  '202.12.27.33',
  '2a00:1450:4001:800::200e',
] as const;
export const SERVER_AGENT = 'shop-backend/1.0';
export const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; Android 13; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/112.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:125.0) Gecko/20100101 Firefox/125.0',
  'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36 Edg/124.0.2478.51',
  'Mozilla/5.0 (Linux; Android 12; SM-T870) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/110.0.0.0 Safari/537.36',
] as const;
/** Hashes that a page in the browser puts behind its address. */
export const HASHES = ['#/inbox', '#/settings', '#pricing'] as const;
/** The data that a visitor's program sends, and the values stored from it. */
export interface Sender {
  readonly agent: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly stored: Readonly<Record<'os' | 'osVersion' | 'device' | 'brand' | 'model' | 'browser', string>>;
}
const PIXEL = { os: 'Android', device: 'mobile', brand: 'Google', browser: '' };
const PHONE = {
  os: 'iOS',
  osVersion: '17.2',
  device: 'mobile',
  brand: 'Apple',
  model: 'iPhone 15',
  browser: 'MyShop',
};
const FIREFOX = 'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0';
/** Native apps, and an import that names the agent of each visitor. */
export const SENDERS: readonly Sender[] = [
  {
    agent: 'Dalvik/2.1.0 (Linux; U; Android 12; Pixel 4 Build/SP2A.220505.002)',
    properties: {},
    stored: { ...PIXEL, osVersion: '12', model: 'Pixel 4' },
  },
  {
    agent: 'okhttp/4.12.0',
    properties: {
      __os: 'Android',
      __osVersion: '14',
      __brand: 'Google',
      __model: 'Pixel 8',
      __device: 'mobile',
    },
    stored: { ...PIXEL, osVersion: '14', model: 'Pixel 8' },
  },
  {
    agent: 'MyShop/7 (MacBookPro18,1) CFNetwork/1408.0.4 Darwin/22.5.0',
    properties: {},
    stored: {
      os: 'macOS',
      osVersion: '13',
      device: 'desktop',
      brand: 'Apple',
      model: 'Macintosh',
      browser: '',
    },
  },
  {
    agent: 'MyShop/3.1',
    properties: {
      __os: 'iOS',
      __osVersion: '17.2',
      __brand: 'Apple',
      __model: 'iPhone 15',
      __device: 'mobile',
      __browser: 'MyShop',
    },
    stored: PHONE,
  },
  {
    agent: SERVER_AGENT,
    properties: { __userAgent: FIREFOX },
    stored: { os: 'Linux', osVersion: '', device: 'desktop', brand: '', model: '', browser: 'Firefox' },
  },
];
/** Language, time zone and screen as browsers send them; the last one sends nothing. */
export const LOCALES = [
  { __language: 'en-US', __timezone: 'America/New_York', __screen: '1920x1080' },
  { __language: 'de-de', __timezone: 'Europe/Berlin', __screen: '390x844' },
  { __language: 'hi_IN', __timezone: 'Asia/Calcutta', __screen: '1366x768' },
  { __language: 'zh-Hant-TW', __screen: '2560x1440' },
  { __language: 'english', __timezone: 'nowhere', __screen: 'large' },
  {},
] as const;
