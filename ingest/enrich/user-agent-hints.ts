import { cutText } from '../../infra/http/cut-text.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import { leadingNumbers } from './user-agent-version.ts';

/** The client hints of Chromium-based browsers, as sent; empty when absent. */
export interface ClientHints {
  /** Names and versions: `sec-ch-ua-full-version-list` where sent, else `sec-ch-ua`. */
  readonly ua: string;
  readonly mobile: string;
  readonly platform: string;
  readonly platformVersion: string;
  readonly model: string;
}

/**
 * The headers of each hint. Browsers send `ua`, `mobile` and `platform` unasked, the others when a site asks for them.
 */
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
      if (value !== '') return cutText(value, HINT_MAX);
    }
    return '';
  };
  // Every browser that sends hints sends this one, and most requests have no hints.
  if (head.header('sec-ch-ua') === '') return NO_CLIENT_HINTS;
  return {
    ua: first(CLIENT_HINT_HEADERS.ua),
    mobile: first(CLIENT_HINT_HEADERS.mobile),
    platform: first(CLIENT_HINT_HEADERS.platform),
    platformVersion: first(CLIENT_HINT_HEADERS.platformVersion),
    model: first(CLIENT_HINT_HEADERS.model),
  };
}

/** The characters of all hints together. */
export function lengthOf({ ua, mobile, platform, platformVersion, model }: ClientHints): number {
  return ua.length + mobile.length + platform.length + platformVersion.length + model.length;
}

/** True if two requests send the same hints. */
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

/** The parsed hints. A field is empty, or undefined, when it is absent or has a value that no browser sends. */
export interface HintedSoftware {
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly isMobile: boolean | undefined;
  readonly model: string;
}

/** Brands as browsers write them, the more specific first: most lists also hold `Chromium` and an invented brand. */
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

/**
 * The platform version on Windows is the version of its universal API contracts: Windows 11 begins at 13, and 0 means versions before 10.
 */
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
    // The short list gives one number, which the user agent writes as `124.0`.
    if (version !== undefined) {
      return { browser, version: leadingNumbers(/^\d+$/.test(version) ? `${version}.0` : version, 2) };
    }
  }
  return { browser: '', version: '' };
}

function brandsIn(list: string): ReadonlyMap<string, string> {
  const versions = new Map<string, string>();
  // A brand may contain commas, semicolons and escaped quotes; browsers put some into the invented brand on purpose.
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
  // On Linux the hint is the kernel's version, which does not identify a distribution.
  if (os === 'Linux') return '';
  const numbers = leadingNumbers(version, 3);
  // Written as in user agents: `14`, not `14.0.0`; `14.4`, not `14.4.0`.
  return os === 'Android'
    ? numbers.replace(/^(\d+)\.0(?:\.0)?$/, '$1')
    : numbers.replace(/^(\d+\.\d+)\.0$/, '$1');
}

/** The text of a quoted header value. */
function textIn(value: string): string {
  return /^"(.*)"$/.exec(value.slice(0, HINT_MAX).trim())?.[1]?.replaceAll('\\', '').trim() ?? '';
}
