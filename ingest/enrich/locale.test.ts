import { expect, test } from 'vitest';
import {
  CACHED_MAX,
  Locales,
  languageOf,
  NO_LOCALE,
  preferredLanguageOf,
  screenOf,
  timezoneOf,
} from './locale.ts';

test.each([
  ['de-DE', 'de-DE'],
  ['DE-de', 'de-DE'],
  ['de_at', 'de-AT'],
  ['EN', 'en'],
  ['zh-hant-tw', 'zh-Hant-TW'],
  ['es-419', 'es-419'],
  // Withdrawn codes are replaced.
  ['iw', 'he'],
  // Extensions, variants and private parts distinguish people and no languages.
  ['en-US-u-co-phonebk', 'en-US'],
  ['de-CH-1996', 'de-CH'],
  ['zh-CN-x-me', 'zh-CN'],
  ['', ''],
  ['*', ''],
  ['und', ''],
  ['x', ''],
  ['english', ''],
  ['en US', ''],
  ['-', ''],
  [`en-${'a'.repeat(100_000)}`, ''],
  [`en${'-variant'.repeat(20)}`, ''],
])('the language %j is %j', (text, language) => {
  expect(languageOf(text)).toBe(language);
});

test.each([
  ['de-CH,de;q=0.9,en;q=0.8', 'de-CH'],
  ['fr', 'fr'],
  [' pt-br ; q=1, en', 'pt-BR'],
  ['*', ''],
  ['', ''],
  [',', ''],
  [`${'a'.repeat(10_000)},en`, ''],
])('Accept-Language: %j prefers %j', (header, language) => {
  expect(preferredLanguageOf(header)).toBe(language);
});

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/berlin', 'Europe/Berlin'],
  ['America/Argentina/Ushuaia', 'America/Argentina/Ushuaia'],
  ['UTC', 'UTC'],
  ['Etc/GMT+5', 'Etc/GMT+5'],
  // Browsers differ in the name that they give to one zone.
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['', ''],
  ['+01:00', ''],
  ['GMT+1', ''],
  ['Europe/Atlantis', ''],
  ['Europe/Berlin/Mitte/1', ''],
  ['__proto__', ''],
  [`Europe/${'B'.repeat(100_000)}`, ''],
])('the time zone %j is %j', (text, timezone) => {
  expect(timezoneOf(text)).toBe(timezone);
});

test.each([
  ['1920x1080', '1920x1080'],
  ['1920X1080', '1920x1080'],
  ['0390x0844', '390x844'],
  ['1x1', '1x1'],
  ['20000x20000', '20000x20000'],
  ['20001x1', ''],
  ['0x1080', ''],
  ['1920x', ''],
  ['1920', ''],
  ['-1x5', ''],
  ['1.5x2', ''],
  ['1920x1080x24', ''],
  ['', ''],
])('the screen %j is %j', (text, screen) => {
  expect(screenOf(text)).toBe(screen);
});

test('a claimed language counts before the header, and what is known is bounded', () => {
  const locales = new Locales();
  const claims = { language: 'DE-de', timezone: 'asia/calcutta', screen: '800X600' };
  const known = { language: 'de-DE', timezone: 'Asia/Kolkata', screen: '800x600' };
  for (let time = 0; time < 2; time += 1) expect(locales.of(claims, 'fr')).toEqual(known);
  const header = 'fr-CA,fr;q=0.5';
  expect(locales.of({ ...claims, language: '' }, header)).toEqual({ ...known, language: 'fr-CA' });
  expect(locales.of({ ...claims, language: '?' }, header)).toEqual({ ...known, language: '' });
  expect(locales.of({ language: '', timezone: '', screen: '' }, '')).toEqual(NO_LOCALE);
  const long = 'z'.repeat(10_000);
  for (let sent = 0; sent < 6_000; sent += 1)
    locales.of({ language: `a${sent}`, timezone: `Zone/A${sent}`, screen: `${long}${sent}` }, '');
  const full = locales.size;
  expect(full).toBeLessThanOrEqual(2 * CACHED_MAX);
  for (let sent = 0; sent < 100; sent += 1) locales.of({ ...claims, timezone: `Zone/${long}${sent}` }, long);
  expect(locales.size).toBe(full);
  expect(locales.of(claims, '')).toEqual(known);
});
