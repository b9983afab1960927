import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.ts';
import { HAS_SAMPLE_LOG, READ_AGENTS } from '../testing/user-agents.ts';
import { type Software, softwareOf } from './user-agent.ts';
import { DEVICES } from './user-agent-device.ts';
import {
  CLIENT_HINT_HEADERS,
  type ClientHints,
  NO_CLIENT_HINTS,
  readClientHints,
} from './user-agent-hints.ts';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0';
const WINDOWS = `${CHROME} Safari/537.36`;
const ANDROID =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36';
const MACINTOSH =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';
const LINUX =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';

describe('labelled user agents', () => {
  test('are many', () => {
    if (!HAS_SAMPLE_LOG) process.stderr.write('The sample log is missing: its user agents are not tested.\n');
    expect(READ_AGENTS.length).toBeGreaterThanOrEqual(HAS_SAMPLE_LOG ? 680 : 410);
    expect(new Set(READ_AGENTS.map(({ userAgent }) => userAgent)).size).toBe(READ_AGENTS.length);
  });

  // Known misses: two rare browsers (Babya Discoverer, dwb), and a OnePlus whose model looks like one of OPPO's.
  const known: [field: keyof Software, missesMax: number][] = [
    ['browser', 2],
    ['browserVersion', 2],
    ['os', 0],
    ['osVersion', 0],
    ['device', 0],
    ['brand', 1],
    ['model', 0],
  ];
  test.each(known)('have the labelled %s, with at most %d misses', (field, missesMax) => {
    const judged = READ_AGENTS.filter(({ expected }) => expected[field] !== '?');
    const misses = judged.flatMap(({ userAgent, expected }) => {
      const answer = softwareOf(userAgent, NO_CLIENT_HINTS)[field];
      return answer === expected[field] ? [] : [`${expected[field]} was read as ${answer}: ${userAgent}`];
    });
    expect(judged.length).toBeGreaterThan(HAS_SAMPLE_LOG ? 650 : 380);
    expect(misses.length, misses.join('\n')).toBeLessThanOrEqual(missesMax);
  });
});

describe('a collection of recent user agents', () => {
  interface UserAgentCase {
    readonly userAgent: string;
    readonly platform: string;
    readonly deviceCategory: string;
  }
  const visits = JSON.parse(
    readFileSync(new URL('../../node_modules/user-agents/dist/user-agents.json', import.meta.url), 'utf8'),
  ) as UserAgentCase[];
  // The page's script saw the platform independently of the user agent. Where both disagree, the browser imitates
  // another device.
  const systems: [platform: string, os: string, word: string][] = [
    ['iPhone', 'iOS', 'iPhone;'],
    ['iPad', 'iOS', 'iPad;'],
    ['MacIntel', 'macOS', 'Macintosh;'],
    ['Win32', 'Windows', 'Windows NT'],
    ['Linux armv81', 'Android', 'Android'],
  ];
  test.each(systems)('gives %s the system %s and the same kind of device', (platform, os, word) => {
    const agreed = visits.filter((visit) => visit.platform === platform && visit.userAgent.includes(word));
    expect(agreed.length).toBeGreaterThan(10);
    for (const { userAgent, deviceCategory } of agreed) {
      const software = softwareOf(userAgent, NO_CLIENT_HINTS);
      expect([software.os, software.device], userAgent).toEqual([os, deviceCategory]);
      expect(software.browser, userAgent).not.toBe('');
      expect(software.browserVersion, userAgent).toMatch(/^(\d+(\.\d+)?)?$/);
    }
  });
});

describe('client hints', () => {
  const hinted = (userAgent: string, hints: Partial<ClientHints>) =>
    softwareOf(userAgent, { ...NO_CLIENT_HINTS, ...hints });

  test.each<[platformVersion: string, osVersion: string]>([
    ['"15.0.0"', '11'],
    ['"13.0.0"', '11'],
    ['"12.0.0"', '10'],
    ['"10.0.0"', '10'],
    ['"1.0.0"', '10'],
    ['"0.3.0"', '8.1'],
    ['"0.1.0"', '7'],
    ['""', '10'],
    ['', '10'],
    ['nonsense', '10'],
  ])('map the contracts version of Windows: %s is %s', (platformVersion, osVersion) => {
    const software = hinted(WINDOWS, { platform: '"Windows"', platformVersion });
    expect([software.os, software.osVersion]).toEqual(['Windows', osVersion]);
  });

  test.each<[userAgent: string, platform: string, platformVersion: string, osVersion: string]>([
    [MACINTOSH, '"macOS"', '"14.4.1"', '14.4.1'],
    [MACINTOSH, '"macOS"', '"15.0.0"', '15.0'],
    [MACINTOSH, '"macOS"', '', '10.15.7'],
    [ANDROID, '"Android"', '"14.0.0"', '14'],
    [ANDROID, '"Android"', '"8.1.0"', '8.1.0'],
    [LINUX, '"Linux"', '"6.5.0"', ''],
  ])('replace a frozen version: %s %s %s is %s', (userAgent, platform, platformVersion, osVersion) => {
    expect(hinted(userAgent, { platform, platformVersion }).osVersion).toBe(osVersion);
  });

  test.each<[list: string, userAgent: string, browser: string, version: string]>([
    ['"Brave";v="124", "Chromium";v="124", "Not-A.Brand";v="99"', WINDOWS, 'Brave', '124.0'],
    ['"Not A;Brand";v="8.0.0.0", "Google Chrome";v="124.0.6367.82"', WINDOWS, 'Chrome', '124.0'],
    ['"Opera GX";v="109", "Not:A-Brand";v="8"', `${WINDOWS} OPR/109.0.0.0`, 'Opera GX', '109.0'],
    ['"Vivaldi";v="6.7", "Chromium";v="124"', WINDOWS, 'Vivaldi', '6.7'],
    ['"DuckDuckGo";v="124", "Chromium";v="124"', WINDOWS, 'DuckDuckGo', '124.0'],
    ['"Microsoft Edge";v="124"', `${WINDOWS} Edg/124.0.2478.51`, 'Edge', '124.0'],
    ['"Chromium";v="124", "Not-A.Brand";v="99"', WINDOWS, 'Chrome', '124.0'],
    ['"Nobody";v="1"', WINDOWS, 'Chrome', '124.0'],
    ['"Android WebView";v="124"', `${ANDROID} [FB_IAB/FB4A;FBAV/407.0.0.30.97;]`, 'Facebook', '407.0'],
    ['"a\\"b;v=";v="1", "Brave";v="1"', WINDOWS, 'Brave', '1.0'],
  ])('reveal a hidden browser: %s', (ua, userAgent, browser, version) => {
    const software = hinted(userAgent, { ua });
    expect([software.browser, software.browserVersion]).toEqual([browser, version]);
  });

  test('give the model that a reduced user agent omits, and its maker', () => {
    const software = hinted(ANDROID, { platform: '"Android"', mobile: '?1', model: '"SM-S918B"' });
    expect([software.brand, software.model, software.device]).toEqual(['Samsung', 'SM-S918B', 'mobile']);
    expect(hinted(ANDROID, { model: '""' })).toMatchObject({ brand: '', model: '' });
    expect(hinted(WINDOWS, { model: '"SM-S918B"' })).toMatchObject({ brand: '', model: '' });
  });

  test('tell a phone from a tablet when the user agent requests desktop pages', () => {
    const platform = '"Android"';
    const expected = { os: 'Android', osVersion: '', brand: '', model: '' };
    expect(hinted(LINUX, { platform, mobile: '?1' })).toMatchObject({ ...expected, device: 'mobile' });
    expect(hinted(LINUX, { platform, mobile: '?0' })).toMatchObject({ ...expected, device: 'tablet' });
    expect(hinted(WINDOWS, { mobile: '?1' }).device).toBe('desktop');
  });

  test('are ignored for a browser that sends none', () => {
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0';
    const hints = {
      ua: '"Brave";v="1"',
      mobile: '?1',
      platform: '"Android"',
      platformVersion: '"9"',
      model: '"K"',
    };
    expect(hinted(firefox, hints)).toEqual(softwareOf(firefox, NO_CLIENT_HINTS));
  });

  test('never change a system that only user agents name', () => {
    const harmony =
      'Mozilla/5.0 (Linux; Android 12; HarmonyOS; NOH-AL10; HMSCore 6.8.0.332) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/99.0.4844.88 HuaweiBrowser/13.0.0.310 Mobile Safari/537.36';
    expect(hinted(harmony, { platform: '"Android"', platformVersion: '"12"' }).os).toBe('HarmonyOS');
  });

  test('are read from their headers, with the full version list before the short one', () => {
    const headers = new Map([
      ['sec-ch-ua', 'short'],
      ['sec-ch-ua-full-version-list', 'full'],
      ['sec-ch-ua-mobile', '?1'],
      ['sec-ch-ua-platform-version', 'x'.repeat(600)],
    ]);
    const read = (names: ReadonlyMap<string, string>) =>
      readClientHints({ header: (name) => names.get(name) ?? '' });
    expect(read(headers)).toEqual({
      ua: 'full',
      mobile: '?1',
      platform: '',
      platformVersion: 'x'.repeat(512),
      model: '',
    });
    headers.delete('sec-ch-ua-full-version-list');
    expect(read(headers).ua).toBe('short');
    expect(read(new Map())).toEqual(NO_CLIENT_HINTS);
    expect(Object.values(CLIENT_HINT_HEADERS).flat()).toHaveLength(6);
  });
});

const anyText = fc.string({ unit: 'binary', maxLength: 1024 });
const devices: readonly string[] = [...DEVICES, ''];

test('for any text, every field is short and can be stored', () => {
  const pieces = fc.constantFrom(
    'Mozilla/5.0 (',
    'Linux; Android 14; ',
    ') AppleWebKit/537.36 ',
    'Chrome/1',
    ' Build/',
  );
  const texts = fc.array(fc.oneof(anyText, pieces), { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, anyText, (userAgent, hint) => {
      const quoted = `"${hint}"`;
      const hints = { ua: hint, mobile: hint, platform: quoted, platformVersion: quoted, model: quoted };
      const software = softwareOf(userAgent, hints);
      expect(devices).toContain(software.device);
      for (const value of Object.values(software)) {
        expect(value.length).toBeLessThanOrEqual(64);
        expect(value).not.toMatch(/[\p{Cc}\p{Cs}]/u);
      }
      expect(softwareOf(userAgent, hints)).toEqual(software);
    }),
  );
});

test('2,000 texts of 1,024 characters made to be slow are parsed', () => {
  const random = new SeededRandom(20_260_401);
  const pieces = [
    'Mozilla/5.0 (Linux; Android 14; ',
    '(',
    ')',
    ';',
    '; ',
    ' ',
    'Android ',
    '; wv)',
    ' Build/',
    'Version/',
    '1.',
    '1',
    'Chrome/1.1 ',
    'Mobile ',
    'SM-',
    'tablet ',
    '"',
    '\\',
    '";v="',
    'Windows NT ',
    'OS 1_',
    ' TV ',
    'Opera Mini/',
  ];
  const slow = (): string => {
    const chosen = Array.from(
      { length: random.integer(1, 4) },
      () => pieces[random.integer(0, pieces.length - 1)],
    );
    return (pieces[random.integer(0, 3)] ?? '') + chosen.join('').repeat(1024).slice(0, 1000);
  };
  let named = 0;
  for (let count = 0; count < 2_000; count++) {
    const text = slow();
    const hints = { ua: text, mobile: text, platform: text, platformVersion: text, model: `"${text}"` };
    if (softwareOf(`${text} Chrome/1`, hints).device !== '') named++;
  }
  // Not the subject of this test, but proof that the texts were parsed: some are similar enough to a browser's.
  expect(named).toBeGreaterThan(100);
});
