import { readFileSync } from 'node:fs';
import crawlers from 'crawler-user-agents';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.ts';
import { HAS_SAMPLE_LOG, READ_AGENTS, READ_BOTS } from '../testing/user-agents.ts';
import { BOT_TYPES, botOf } from './bot.ts';

// Texts of devices and of no browser at all, which may count as bots.
const AMBIGUOUS = ['AppleTV11,1/11.1', 'SomethingElse', ''];

describe('a browser that people use', () => {
  test('is never a bot', () => {
    const browsers = READ_AGENTS.filter(
      ({ userAgent, expected }) => expected.device !== 'server' && !AMBIGUOUS.includes(userAgent),
    );
    expect(browsers.length).toBeGreaterThan(HAS_SAMPLE_LOG ? 640 : 380);
    const mistaken = browsers.filter(({ userAgent }) => botOf(userAgent) !== undefined);
    expect(mistaken.map(({ userAgent }) => userAgent)).toEqual([]);
  });

  test('is never a bot, over a collection of recent user agents', () => {
    const visits = JSON.parse(
      readFileSync(new URL('../../node_modules/user-agents/dist/user-agents.json', import.meta.url), 'utf8'),
    ) as { userAgent: string }[];
    const distinct = [...new Set(visits.map(({ userAgent }) => userAgent))];
    expect(distinct.length).toBeGreaterThan(900);
    expect(distinct.filter((userAgent) => botOf(userAgent) !== undefined)).toEqual([]);
  });

  test.each(['', ' '])('with the empty user agent %j is not a bot', (userAgent) => {
    expect(botOf(userAgent)).toBeUndefined();
  });
});

test.skipIf(!HAS_SAMPLE_LOG)('bots of a real log are recognized, named and classified as labelled', () => {
  expect(READ_BOTS.length).toBeGreaterThan(70);
  expect(READ_BOTS.map(({ userAgent }) => ({ userAgent, ...botOf(userAgent) }))).toEqual(READ_BOTS);
});

/**
 * User agents on the list of crawlers that people use: two pages shown inside apps, two editors, and a browser for a
 * single site.
 */
const BROWSERS_ON_THE_LIST = [
  /Instagram 406\.0\.0\.58\.159 Android/,
  /MetaIAB Facebook$/,
  / Code\/1\.115\.0 .* Electron\//,
  / Trae\/1\.107\.1 .* Electron\//,
  / Fluid\/0\.9\.6 Safari\//,
];

test('every example on the list of crawlers is a bot, except five that people use, and apps', () => {
  const listed = crawlers.flatMap(({ instances }) => instances);
  // The list counts the HTTP library of Android apps as a crawler.
  const apps = listed.filter((userAgent) => /^okhttp\/[\d.]+$/.test(userAgent));
  expect(apps.length).toBeGreaterThan(0);
  expect(apps.filter((userAgent) => botOf(userAgent) !== undefined)).toEqual([]);
  const examples = listed.filter((userAgent) => !apps.includes(userAgent));
  expect(examples.length).toBeGreaterThanOrEqual(2_113);
  const people = examples.filter((userAgent) => botOf(userAgent) === undefined);
  expect(people).toHaveLength(BROWSERS_ON_THE_LIST.length);
  for (const pattern of BROWSERS_ON_THE_LIST) expect(people).toContainEqual(expect.stringMatching(pattern));
});

test.each<[type: string, name: string, userAgent: string]>([
  ['search', 'Googlebot', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'],
  [
    'search',
    'Googlebot',
    'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  ],
  ['search', 'Googlebot-Image', 'Googlebot-Image/1.0'],
  [
    'search',
    'bingbot',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36',
  ],
  ['search', 'YandexBot', 'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)'],
  ['search', 'DuckDuckBot', 'DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)'],
  [
    'ai',
    'GPTBot',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  ],
  [
    'ai',
    'ChatGPT-User',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0; +https://openai.com/bot)',
  ],
  [
    'ai',
    'ClaudeBot',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  ],
  [
    'ai',
    'PerplexityBot',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)',
  ],
  ['ai', 'CCBot', 'CCBot/2.0 (https://commoncrawl.org/faq/)'],
  [
    'ai',
    'Bytespider',
    'Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)',
  ],
  ['monitor', 'UptimeRobot', 'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)'],
  ['monitor', 'Pingdom', 'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)'],
  [
    'monitor',
    'Chrome-Lighthouse',
    'Mozilla/5.0 (Linux; Android 11; moto g power (2022)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse',
  ],
  [
    'preview',
    'facebookexternalhit',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  ],
  ['preview', 'Slackbot', 'Slackbot 1.0 (+https://api.slack.com/robots)'],
  ['preview', 'Twitterbot', 'Twitterbot/1.0'],
  ['preview', 'WhatsApp', 'WhatsApp/2.23.20.0 A'],
  ['preview', 'Discordbot', 'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)'],
  ['feed', 'Feedly', 'Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)'],
  ['seo', 'AhrefsBot', 'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)'],
  ['seo', 'SemrushBot', 'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)'],
  ['seo', 'MJ12bot', 'Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)'],
  [
    'archiver',
    'archive.org_bot',
    'Mozilla/5.0 (compatible; archive.org_bot +http://www.archive.org/details/archive.org_bot)',
  ],
  [
    'tool',
    'HeadlessChrome',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/124.0.0.0 Safari/537.36',
  ],
  ['tool', 'curl', 'curl/8.4.0'],
  ['tool', 'python-requests', 'python-requests/2.31.0'],
  ['tool', 'Go-http-client', 'Go-http-client/1.1'],
  ['tool', 'node', 'node'],
  ['tool', 'got', 'got (https://github.com/sindresorhus/got)'],
  [
    'tool',
    'WindowsPowerShell',
    'Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.22621.2506',
  ],
  ['other', 'LumiBot', 'LumiBot 2.0'],
  ['other', 'unheard-of-bot', 'unheard-of-bot/0.1 (admin@example.com)'],
])('%s bot: %s', (type, name, userAgent) => {
  expect(botOf(userAgent)).toEqual({ name, type });
});

test.each(['Googlebot/2.1', '360Spider'])('%s is a bot whatever browser it imitates', (bot) => {
  const browser =
    'Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; WOW64; Trident/5.0; chromeframe/19.0.1084.52)';
  expect(botOf(browser)).toBeUndefined();
  expect(botOf(`${browser} ${bot}`)).toMatchObject({ type: 'search' });
});

test('for any text, a bot has a short printable name and a listed type', () => {
  const pieces = fc.constantFrom('bot', 'crawler/', 'Mozilla/5.0 (compatible; ', '+http://', '@a.', '.com');
  const texts = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' })), { maxLength: 40 });
  fc.assert(
    fc.property(texts, (parts) => {
      const bot = botOf(parts.join(''));
      if (bot === undefined) return;
      expect(BOT_TYPES).toContain(bot.type);
      expect(bot.name.length).toBeLessThanOrEqual(64);
      expect(bot.name).not.toMatch(/[\p{Cc}\p{Cs}]/u);
    }),
  );
});

test('2,000 texts of 1,024 characters made to be slow are classified', () => {
  const random = new SeededRandom(20_260_402);
  const pieces = [
    'bot',
    'ContextualBot',
    'Current',
    'Spider',
    '/1.1',
    '.1',
    '-',
    '@a',
    'http://',
    'compatible; ',
    '(',
    ')',
    '; a',
    '_',
    'a',
    'Mozilla/5.0 (',
    'chromeframe/',
    ' ',
    '.',
    '%',
    '1',
  ];
  let bots = 0;
  for (let count = 0; count < 2_000; count++) {
    const chosen = Array.from(
      { length: random.integer(1, 4) },
      () => pieces[random.integer(0, pieces.length - 1)],
    );
    const text = `${pieces[random.integer(0, 4)]}${chosen.join('').repeat(1024)}`.slice(0, 1023);
    if (botOf(`${text}!`) !== undefined) bots++;
  }
  expect(bots).toBeGreaterThan(1_000);
});
