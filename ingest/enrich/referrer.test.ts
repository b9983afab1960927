import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostOf, pageOf } from './page.ts';
import { isReferrer, sourceOf } from './referrer.ts';
import {
  APPS,
  REFERRER_SERVICES,
  REFERRER_TYPES,
  SOURCE_WORDS,
  serviceAt,
  serviceOfApp,
  serviceOfSource,
} from './referrer-list.ts';

const HOST_PATTERNS = REFERRER_SERVICES.flatMap(({ name, hostPatterns }) =>
  hostPatterns.map((hostPattern) => ({ name, hostPattern })),
);

function arrive(referrer: string, path = 'https://shop.example/') {
  const page = pageOf(path);
  return sourceOf({ referrer, referrerHost: hostOf(referrer), ownHost: page.host }, page);
}

describe('the list', () => {
  test('has no host pattern, name, app or word twice', () => {
    const lists = [
      HOST_PATTERNS.map(({ hostPattern }) => hostPattern),
      REFERRER_SERVICES.map(({ name }) => name.toLowerCase()),
      Object.values(APPS).flatMap((apps) => apps.toLowerCase().split(' ')),
      Object.values(SOURCE_WORDS).flatMap((words) => words.split(' ').filter((word) => word !== '')),
    ];
    for (const list of lists) expect(list.filter((entry, at) => list.indexOf(entry) !== at)).toEqual([]);
  });

  test('has hosts in the form that browsers send', () => {
    for (const { hostPattern } of HOST_PATTERNS) {
      const address = new URL(`https://${hostPattern.replace('.*', '.de')}`);
      expect(address.host + address.pathname.replace(/^\/$/, '')).toBe(hostPattern.replace('.*', '.de'));
      expect(hostPattern).not.toMatch(/^www\./);
    }
  });

  test('has no host below another host of the same service', () => {
    const below = ({ name, hostPattern }: { name: string; hostPattern: string }) =>
      HOST_PATTERNS.some((other) => other.name === name && hostPattern.endsWith(`.${other.hostPattern}`));
    expect(HOST_PATTERNS.filter(below)).toEqual([]);
  });

  test('is broad: every type has services, at least 250 in all, with 600 host patterns', () => {
    expect(
      REFERRER_TYPES.filter((type) => !REFERRER_SERVICES.some((service) => service.type === type)),
    ).toEqual([]);
    expect(REFERRER_SERVICES.length).toBeGreaterThanOrEqual(250);
    expect(HOST_PATTERNS.length).toBeGreaterThanOrEqual(600);
  });

  test('finds the service of every host pattern and of what lies below it', () => {
    const strays = HOST_PATTERNS.filter(({ name, hostPattern }) => {
      const slash = hostPattern.indexOf('/');
      const path = slash < 0 ? '' : hostPattern.slice(slash);
      const hosts = (slash < 0 ? hostPattern : hostPattern.slice(0, slash)).replace('.*', '.com.br');
      const names = [serviceAt(hosts, path), path === '' ? serviceAt(`${hosts}.`, '') : undefined];
      // A path means nothing on a host below a section's host, and some hosts have another service below them.
      if (path === '') names.push(serviceAt(`www.${hosts}`, '/'), serviceAt(`a.b-c.${hosts}`, '/some/page'));
      return (
        names.some((service) => service !== undefined && service.name !== name) || names[0] === undefined
      );
    });
    expect(strays).toEqual([]);
  });

  test('finds every app and every package below its own', () => {
    for (const [name, apps] of Object.entries(APPS))
      for (const app of apps.split(' ')) {
        expect(serviceOfApp(app)?.name).toBe(name);
        expect(serviceOfApp(`${app}.beta`)?.name).toBe(name);
        expect(serviceOfApp(`${app}x`)?.name).not.toBe(name);
      }
  });

  test('matches whole labels only: a host that merely starts or ends with a known one is unknown', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...HOST_PATTERNS),
        fc.stringMatching(/^[a-z0-9]{3,8}$/),
        ({ hostPattern }, letters) => {
          const host = hostPattern.split('/')[0]?.replace('.*', '.com') ?? '';
          expect(serviceAt(`${host}.${letters}.example`, '')).toBeUndefined();
          const longer = serviceAt(`zq${letters}-${host}`, '');
          const parent = serviceAt(host.slice(host.indexOf('.') + 1), '');
          expect(longer).toEqual(parent);
        },
      ),
    );
  });

  test('accepts any text as a host, an app or a word', () => {
    const odd = fc.constantFrom(
      '.',
      '..',
      '.com',
      'com.',
      '__proto__',
      'constructor',
      'a..b',
      'google..com',
      '.*',
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), odd), (text) => {
        for (const service of [serviceAt(text, text), serviceOfApp(text), serviceOfSource(text)])
          if (service !== undefined) expect(REFERRER_TYPES).toContain(service.type);
      }),
    );
  });

  test.each([
    ['notgoogle.com', undefined],
    ['google.com.evil.example', undefined],
    ['google.evil', undefined],
    ['google', undefined],
    ['co.uk', undefined],
    ['google.co.uk', 'Google'],
    ['google.com.br', 'Google'],
    ['images.google.de', 'Google'],
    ['google.com.', 'Google'],
    ['mail.google.com', 'Gmail'],
    ['news.google.com', 'Google News'],
    ['news.google.co.jp', 'Google News'],
    ['translate.google.fr', 'Google Translate'],
    ['yandex.com.tr', 'Yandex'],
    ['mail.yandex.ru', 'Yandex Mail'],
    ['de.search.yahoo.com', 'Yahoo'],
    ['search.yahoo.co.jp', 'Yahoo Japan'],
    ['mail.yahoo.co.jp', 'Yahoo Mail'],
    ['amazon.com.mx', 'Amazon'],
    ['ebay.co.uk', 'eBay'],
    ['lm.facebook.com', 'Facebook'],
    ['l.instagram.com', 'Instagram'],
    ['out.reddit.com', 'Reddit'],
    ['t.co', 'X'],
    ['reddit.co', undefined],
    ['ax.com', undefined],
  ])('%s is %s', (host, name) => {
    expect(serviceAt(host, '')?.name).toBe(name);
  });
});

describe('a referrer', () => {
  test.each([
    ['https://www.google.com/search', 'Google', 'search', 'Organic Search'],
    ['https://t.co/abc', 'X', 'social', 'Organic Social'],
    ['https://www.youtube.com/watch', 'YouTube', 'video', 'Organic Video'],
    ['https://mail.google.com/', 'Gmail', 'email', 'Email'],
    ['https://chatgpt.com/', 'ChatGPT', 'ai', 'AI Assistants'],
    ['https://www.bing.com/chat', 'Copilot', 'ai', 'AI Assistants'],
    ['https://www.bing.com/chatter', 'Bing', 'search', 'Organic Search'],
    ['https://x.com/i/grok/share/1', 'Grok', 'ai', 'AI Assistants'],
    ['https://x.com/i/lists', 'X', 'social', 'Organic Social'],
    ['https://www.amazon.de/dp/1', 'Amazon', 'shopping', 'Organic Shopping'],
    ['https://googleads.g.doubleclick.net/', 'Google Ads', 'paid', 'Paid Other'],
    ['https://docs.google.com/document/d/1', 'Google Docs', 'work', 'Referral'],
    ['https://www.awin1.com/cread.php', 'Awin', 'affiliate', 'Affiliates'],
    ['https://news.google.com/', 'Google News', 'news', 'Referral'],
    ['https://www.blog.example/post', 'blog.example', '', 'Referral'],
    ['http://192.0.2.1:8080/', '192.0.2.1', '', 'Referral'],
    ['android-app://com.google.android.gm/', 'Gmail', 'email', 'Email'],
    [
      'android-app://com.google.android.googlequicksearchbox/https/www.google.com',
      'Google',
      'search',
      'Organic Search',
    ],
    ['android-app://com.Slack', 'Slack', 'social', 'Organic Social'],
    ['android-app://org.example.reader/', 'org.example.reader', '', 'Referral'],
    ['ios-app://544007664/vnd.youtube/www.youtube.com/', 'YouTube', 'video', 'Organic Video'],
    ['ios-app://1/', '1', '', 'Referral'],
  ])('%s is named and typed', (referrer, referrerName, referrerType, channel) => {
    expect(arrive(referrer)).toMatchObject({ referrer, referrerName, referrerType, channel });
  });

  test.each([
    ['', 'https://shop.example/'],
    ['/other', 'https://shop.example/'],
    ['https://shop.example/a', 'https://shop.example/b'],
    ['https://www.shop.example/a', 'https://shop.example/b'],
    ['https://SHOP.example/a', 'https://www.shop.example/b?page=2'],
    ['https://www.google.com/a', 'https://www.google.com/b'],
    ['about:client', 'https://shop.example/'],
    ['about:blank', 'https://shop.example/'],
    ['capacitor://localhost/inbox', 'https://shop.example/'],
    ['chrome-extension://abcdef/', 'https://shop.example/'],
  ])('%j of a page of %j is no source', (referrer, path) => {
    expect(arrive(referrer, path)).toEqual({
      referrer: '',
      referrerName: '',
      referrerType: '',
      utmSource: '',
      utmMedium: '',
      utmCampaign: '',
      utmTerm: '',
      utmContent: '',
      channel: 'Direct',
    });
  });

  test('another host of the same domain is a source', () => {
    expect(arrive('https://blog.shop.example/').referrerName).toBe('blog.shop.example');
  });

  test.each([
    ['https://www.google.com/search?q=my+secret#top', 'https://www.google.com/search'],
    ['https://www.Google.com', 'https://www.google.com/'],
    ['https://www.google.com?q=a', 'https://www.google.com/'],
    ['http://ada:secret@blog.example:8080/A%20b/?x', 'http://blog.example:8080/A%20b/'],
    ['android-app://com.Slack?q=a', 'android-app://com.Slack'],
    ['android-app://com.google.android.gm/inbox#x', 'android-app://com.google.android.gm/inbox'],
  ])('%s is stored without query, fragment and password', (referrer, stored) => {
    expect(arrive(referrer).referrer).toBe(stored);
  });

  test('is stored cut to its limit', () => {
    const referrer = `https://blog.example/${'a'.repeat(3000)}`;
    expect(arrive(referrer)).toMatchObject({
      referrer: referrer.slice(0, 2048),
      referrerName: 'blog.example',
    });
  });

  test('of an installed app is a campaign, unless the page has its own', () => {
    const install = 'utm_source=google-play&utm_medium=organic';
    expect(arrive(install, '')).toMatchObject({
      referrer: '',
      referrerName: 'google-play',
      utmSource: 'google-play',
      utmMedium: 'organic',
      channel: 'Organic Search',
    });
    expect(arrive('gclid=abc', 'home').channel).toBe('Paid Search');
    expect(arrive(install, '/home?utm_source=letter')).toMatchObject({ utmSource: 'letter', utmMedium: '' });
    expect(arrive('utm_source=(not%20set)&utm_medium=(not%20set)', 'home').utmSource).toBe('(not set)');
  });

  test.each([
    '',
    'https://www.google.com/',
    'HTTP://blog.example',
    'android-app://com.Slack',
    'ios-app://544007664/vnd.youtube',
    'capacitor://localhost/inbox',
    'about:blank',
    '/pricing',
    'utm_source=google-play&utm_medium=organic',
  ])('%j can be one', (text) => {
    expect(isReferrer(text)).toBe(true);
  });

  test.each([
    'x',
    'google',
    'google.com',
    'www.google.com/search',
    'not a url',
    'http://',
    'https://[broken/',
    'https://exa mple.com/',
    'http:/blog.example',
    'android-app://',
    'javascript:alert(1)',
    'data:text/html,x',
    ' ',
    '?q=a',
    '=a',
  ])('%j cannot be one', (text) => {
    expect(isReferrer(text)).toBe(false);
  });
});

describe('the source of a campaign', () => {
  test.each([
    ['google', 'Google', 'search'],
    ['Google', 'Google', 'search'],
    ['www.google.co.uk', 'Google', 'search'],
    ['https://www.google.com/search', 'Google', 'search'],
    ['google_ads', 'Google', 'search'],
    ['fb', 'Facebook', 'social'],
    ['facebook-ads', 'Facebook', 'social'],
    ['Meta Ads', 'Facebook', 'social'],
    ['ig', 'Instagram', 'social'],
    ['twitter', 'X', 'social'],
    ['x', 'X', 'social'],
    ['threads', 'Threads', 'social'],
    ['hacker_news', 'Hacker News', 'social'],
    ['yt', 'YouTube', 'video'],
    ['chatgpt.com', 'ChatGPT', 'ai'],
    ['chatgpt', 'ChatGPT', 'ai'],
    ['perplexity', 'Perplexity', 'ai'],
    ['mailchimp', 'Mailchimp', 'email'],
    ['amazon', 'Amazon', 'shopping'],
    ['newsletter', 'newsletter', ''],
    ['free', 'free', ''],
    ['June Letter', 'June Letter', ''],
    ['partner.example', 'partner.example', ''],
    ['constructor', 'constructor', ''],
  ])('%s is %s', (written, referrerName, referrerType) => {
    const path = `https://shop.example/?utm_source=${encodeURIComponent(written)}`;
    expect(arrive('', path)).toMatchObject({ referrerName, referrerType, utmSource: written });
  });

  test('overrides the referrer, which is still stored', () => {
    expect(
      arrive('https://www.google.com/', 'https://shop.example/?utm_source=fb&utm_medium=cpc'),
    ).toMatchObject({
      referrer: 'https://www.google.com/',
      referrerName: 'Facebook',
      referrerType: 'social',
      utmSource: 'fb',
      utmMedium: 'cpc',
      channel: 'Paid Social',
    });
    expect(arrive('https://www.google.com/', 'https://shop.example/?utm_source=letter')).toMatchObject({
      referrerName: 'letter',
      referrerType: '',
      channel: 'Unassigned',
    });
  });

  test('counts on a page reached from the same host', () => {
    const source = arrive(
      'https://shop.example/a',
      'https://shop.example/b?utm_source=google&utm_medium=cpc',
    );
    expect(source).toMatchObject({ referrer: '', referrerName: 'Google', channel: 'Paid Search' });
  });

  test('is recognized by every listed word and by every name', () => {
    for (const [name, words] of Object.entries(SOURCE_WORDS))
      for (const word of words.split(' '))
        expect(serviceOfSource(word === '' ? name.toUpperCase() : word)?.name).toBe(name);
  });

  test('is optional: without it, medium and click id decide the channel', () => {
    expect(arrive('https://www.google.com/', 'https://shop.example/?gclid=1').channel).toBe('Paid Search');
    expect(arrive('https://www.google.com/', 'https://shop.example/?utm_medium=cpc').channel).toBe(
      'Paid Search',
    );
  });
});

test('the same arguments give the same source, within the limits of its texts', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl(),
        fc.string(),
        fc.string().map((id) => `android-app://${id}`),
      ),
      fc.oneof(
        fc.webUrl({ withQueryParameters: true }),
        fc.string().map((text) => `/?utm_source=${text}`),
      ),
      (referrer, path) => {
        const source = arrive(referrer.repeat(10), path.repeat(10));
        expect(arrive(referrer.repeat(10), path.repeat(10))).toEqual(source);
        expect(source.referrer.length).toBeLessThanOrEqual(2048);
        expect(source.referrerName.length).toBeLessThanOrEqual(256);
        expect(['', ...REFERRER_TYPES]).toContain(source.referrerType);
      },
    ),
  );
});
