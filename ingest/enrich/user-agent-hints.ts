import type { RequestHead } from '../../infra/http/http.ts';
import { leadingNumbers } from './user-agent-version.ts';

/** What a browser of the Chromium family says of itself in headers. Texts as sent; empty when absent. */
export interface ClientHints {
  /** Names and versions: `sec-ch-ua-full-version-list` where sent, else `sec-ch-ua`. */
  readonly ua: string;
  readonly mobile: string;
  readonly platform: string;
  readonly platformVersion: string;
  readonly model: string;
}

/** Which header tells what. Browsers send `ua`, `mobile` and `platform` unasked, the rest where a site asks for it. */
export const CLIENT_HINT_HEADERS = {
  ua: ['sec-ch-ua-full-version-list', 'sec-ch-ua'],
  mobile: ['sec-ch-ua-mobile'],
  platform: ['sec-ch-ua-platform'],
  platformVersion: ['sec-ch-ua-platform-version'],
  model: ['sec-ch-ua-model'],
} as const;

export const NO_CLIENT_HINTS: ClientHints = {
  ua: '',
  mobile: '',
  platform: '',
  platformVersion: '',
  model: '',
};

const HINT_MAX = 512;
const BRANDS_MAX = 16;

export function readClientHints(head: Pick<RequestHead, 'header'>): ClientHints {
  const first = (names: readonly string[]) => {
    for (const name of names) {
      const value = head.header(name);
      if (value !== '') return value.slice(0, HINT_MAX);
    }
    return '';
  };
  // Who sends hints sends this one, and most requests are of others.
  if (head.header('sec-ch-ua') === '') return NO_CLIENT_HINTS;
  return {
    ua: first(CLIENT_HINT_HEADERS.ua),
    mobile: first(CLIENT_HINT_HEADERS.mobile),
    platform: first(CLIENT_HINT_HEADERS.platform),
    platformVersion: first(CLIENT_HINT_HEADERS.platformVersion),
    model: first(CLIENT_HINT_HEADERS.model),
  };
}

/** Whether two requests hint at the same. */
export function areSame(one: ClientHints, other: ClientHints): boolean {
  if (one === other) return true;
  return (
    one.ua === other.ua &&
    one.model === other.model &&
    one.platformVersion === other.platformVersion &&
    one.platform === other.platform &&
    one.mobile === other.mobile
  );
}

/** The hints, understood. A part is empty, or undefined, when it is not told or not a value that browsers send. */
export interface HintedSoftware {
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly isMobile: boolean | undefined;
  readonly model: string;
}

/** Brands as browsers write them, the more telling ones first: most lists hold `Chromium` too, and an invented name. */
const BROWSERS: readonly (readonly [brand: string, browser: string])[] = [
  ['Opera GX', 'Opera GX'],
  ['Opera', 'Opera'],
  ['Microsoft Edge', 'Edge'],
  ['Brave', 'Brave'],
  ['Vivaldi', 'Vivaldi'],
  ['YaBrowser', 'Yandex Browser'],
  ['Yandex', 'Yandex Browser'],
  ['Samsung Internet', 'Samsung Internet'],
  ['DuckDuckGo', 'DuckDuckGo'],
  ['HuaweiBrowser', 'Huawei Browser'],
  ['Oculus Browser', 'Oculus Browser'],
  ['Meta Quest Browser', 'Oculus Browser'],
  ['Whale', 'Whale'],
  ['CocCoc', 'Coc Coc'],
  ['Avast Secure Browser', 'Avast Secure Browser'],
  ['AVG Secure Browser', 'AVG Secure Browser'],
  ['Android WebView', 'Chrome WebView'],
  ['Google Chrome', 'Chrome'],
  ['HeadlessChrome', 'Chrome'],
  ['Chromium', 'Chromium'],
];

const SYSTEMS: ReadonlyMap<string, string> = new Map([
  ['Windows', 'Windows'],
  ['macOS', 'macOS'],
  ['Linux', 'Linux'],
  ['Android', 'Android'],
  ['Chrome OS', 'Chrome OS'],
  ['Chromium OS', 'Chrome OS'],
]);

/** Browsers report the version of Windows' universal contracts: 13 came with Windows 11, 0 stands for what was before 10. */
const WINDOWS_11_FROM = 13;
const WINDOWS_BEFORE_10: ReadonlyMap<string, string> = new Map([
  ['0.1', '7'],
  ['0.2', '8'],
  ['0.3', '8.1'],
]);

export function parseClientHints(hints: ClientHints): HintedSoftware {
  const { browser, version } = browserIn(hints.ua);
  const os = SYSTEMS.get(textIn(hints.platform)) ?? '';
  return {
    browser,
    browserVersion: version,
    os,
    osVersion: osVersionOf(os, textIn(hints.platformVersion)),
    isMobile: hints.mobile === '?1' ? true : hints.mobile === '?0' ? false : undefined,
    model: textIn(hints.model),
  };
}

function browserIn(list: string): { browser: string; version: string } {
  const versions = brandsIn(list);
  for (const [brand, browser] of BROWSERS) {
    const version = versions.get(brand);
    // The short list gives one number; the user agent of the same browser calls it `124.0`.
    if (version !== undefined) {
      return { browser, version: leadingNumbers(/^\d+$/.test(version) ? `${version}.0` : version, 2) };
    }
  }
  return { browser: '', version: '' };
}

function brandsIn(list: string): ReadonlyMap<string, string> {
  const versions = new Map<string, string>();
  // A brand may hold commas, semicolons and escaped quotes: browsers put such into the invented one on purpose.
  for (const match of list.slice(0, HINT_MAX).matchAll(/"((?:[^"\\]|\\.)*)"\s{0,4};\s{0,4}v="([\d.]*)"/g)) {
    versions.set(match[1] ?? '', match[2] ?? '');
    if (versions.size >= BRANDS_MAX) break;
  }
  return versions;
}

function osVersionOf(os: string, version: string): string {
  if (os === 'Windows') {
    const contracts = Number.parseInt(version, 10);
    if (contracts >= WINDOWS_11_FROM) return '11';
    return contracts > 0 ? '10' : (WINDOWS_BEFORE_10.get(leadingNumbers(version, 2)) ?? '');
  }
  // The hint of Linux is its kernel's version, which is no version of what people run.
  if (os === 'Linux') return '';
  const numbers = leadingNumbers(version, 3);
  // Written as the user agent writes it: `14`, not `14.0.0`; `14.4`, not `14.4.0`.
  return os === 'Android'
    ? numbers.replace(/^(\d+)\.0(?:\.0)?$/, '$1')
    : numbers.replace(/^(\d+\.\d+)\.0$/, '$1');
}

/** The text of a quoted header value. */
function textIn(value: string): string {
  return /^"(.*)"$/.exec(value.slice(0, HINT_MAX).trim())?.[1]?.replaceAll('\\', '').trim() ?? '';
}
