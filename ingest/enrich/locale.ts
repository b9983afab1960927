import { LRUCache } from 'lru-cache';

/** Facts from a visitor's software about its language, place in time and screen. Texts; empty when unknown. */
export interface Locale {
  /** A BCP 47 tag of language, script and region in its usual spelling: `de`, `de-AT`, `zh-Hant-TW`. */
  readonly language: string;
  /** A name of the IANA time zone database: `Europe/Berlin`. */
  readonly timezone: string;
  /** Width and height in CSS pixels: `1920x1080`. */
  readonly screen: string;
}

export const NO_LOCALE: Locale = { language: '', timezone: '', screen: '' };

export function areSameLocales(one: Locale, other: Locale): boolean {
  return one.language === other.language && one.timezone === other.timezone && one.screen === other.screen;
}

/** Entries of each cache. */
export const CACHED_MAX = 1_000;
/** No tag and no name of a zone is longer; longer texts are unknown, and never cached. */
const TEXT_MAX = 64;
const SCREEN_MAX = 20_000;

const SHORT_LANGUAGE = /^[a-z]{2,3}$/;
const SCREEN = /^0*(\d{1,5})x0*(\d{1,5})$/i;
/** Without offsets such as `+01:00`, which some releases of Node take for zones. */
const ZONE_NAME = /^[a-z][\w+-]*(\/[a-z][\w+-]*){0,2}$/i;

/** Zones that were renamed, by the old name, which browsers and Node may still give. */
const RENAMED_ZONES: ReadonlyMap<string, string> = new Map([
  ['Africa/Asmera', 'Africa/Asmara'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['America/Catamarca', 'America/Argentina/Catamarca'],
  ['America/Cordoba', 'America/Argentina/Cordoba'],
  ['America/Jujuy', 'America/Argentina/Jujuy'],
  ['America/Mendoza', 'America/Argentina/Mendoza'],
  ['America/Coral_Harbour', 'America/Atikokan'],
  ['America/Godthab', 'America/Nuuk'],
  ['America/Indianapolis', 'America/Indiana/Indianapolis'],
  ['America/Louisville', 'America/Kentucky/Louisville'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['Asia/Rangoon', 'Asia/Yangon'],
  ['Asia/Saigon', 'Asia/Ho_Chi_Minh'],
  ['Atlantic/Faeroe', 'Atlantic/Faroe'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Pacific/Enderbury', 'Pacific/Kanton'],
  ['Pacific/Ponape', 'Pacific/Pohnpei'],
  ['Pacific/Truk', 'Pacific/Chuuk'],
]);

/** Reads languages, time zones and screens. Recent languages and zones are cached, as reading one takes microseconds. */
export class Locales {
  readonly #languages = new LRUCache<string, string>({ max: CACHED_MAX });
  readonly #timezones = new LRUCache<string, string>({ max: CACHED_MAX });

  /**
   * The locale that a body claims. Without a claimed language it is the preferred one of `acceptLanguage`. Meaningless texts count as
   * unknown.
   */
  of(claims: Locale, acceptLanguage: string): Locale {
    return {
      language:
        claims.language === ''
          ? cached(this.#languages, firstOf(acceptLanguage), languageOf)
          : cached(this.#languages, claims.language, languageOf),
      timezone: cached(this.#timezones, claims.timezone, timezoneOf),
      screen: screenOf(claims.screen),
    };
  }

  /** The number of cached texts. */
  get size(): number {
    return this.#languages.size + this.#timezones.size;
  }
}

function cached(known: LRUCache<string, string>, text: string, read: (text: string) => string): string {
  if (text === '' || text.length > TEXT_MAX) return '';
  const found = known.get(text);
  if (found !== undefined) return found;
  const result = read(text);
  known.set(text, result);
  return result;
}

/** The language of a BCP 47 tag, also with underscores. Variants and extensions are left out. */
export function languageOf(text: string): string {
  if (text.length > TEXT_MAX) return '';
  try {
    const { language, script, region } = new Intl.Locale(text.replaceAll('_', '-'));
    if (!SHORT_LANGUAGE.test(language) || language === 'und') return '';
    return [language, script, region].filter((part) => part !== undefined).join('-');
  } catch {
    return '';
  }
}

/** The first language of an `Accept-Language` header, which the browser prefers. */
export function preferredLanguageOf(header: string): string {
  return languageOf(firstOf(header));
}

/** The present name of an IANA time zone, in any spelling of upper and lower case. */
export function timezoneOf(text: string): string {
  if (text.length > TEXT_MAX || !ZONE_NAME.test(text)) return '';
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    return RENAMED_ZONES.get(timeZone) ?? timeZone;
  } catch {
    return '';
  }
}

/** Width and height, each from 1 to 20,000 pixels. */
export function screenOf(text: string): string {
  const [, width, height] = text.length > TEXT_MAX ? [] : (SCREEN.exec(text) ?? []);
  return isSide(width) && isSide(height) ? `${width}x${height}` : '';
}

function isSide(digits: string | undefined): boolean {
  const pixels = Number(digits);
  return pixels >= 1 && pixels <= SCREEN_MAX;
}

function firstOf(header: string): string {
  const end = header.search(/[,;]/);
  return (end < 0 ? header : header.slice(0, end)).trim();
}
