import crawlers from 'crawler-user-agents';
import { isbot } from 'isbot';
import { cut } from './page.ts';
import { isServerProgram } from './user-agent-device.ts';
import { USER_AGENT_MAX } from './user-agent-version.ts';

/** A program that reads pages on nobody's behalf, by the name that it gives itself; empty when it gives none. */
export interface Bot {
  readonly name: string;
  readonly type: BotType;
}

/**
 * What bots are for. `ai`: collects or fetches for language models; `preview`: shows a link that somebody shared;
 * `tool`: libraries, command lines and remote-controlled browsers; `other`: advertising, scanners, and whoever does
 * not say.
 */
export const BOT_TYPES = [
  'search',
  'ai',
  'monitor',
  'preview',
  'feed',
  'seo',
  'archiver',
  'tool',
  'other',
] as const;
export type BotType = (typeof BOT_TYPES)[number];

const NAME_MAX = 64;

/**
 * Whether a user agent is a bot's, and whose. Two libraries answer: `isbot` whether, in one search; the list
 * `crawler-user-agents` which, in some 1,500 searches, made for bots alone.
 *
 * No user agent at all is no bot: browsers that guard their users' privacy and libraries in telephones' own programs
 * send none, and a bot that hides would rather send a browser's.
 */
export function botOf(userAgent: string): Bot | undefined {
  const text = userAgent.slice(0, USER_AGENT_MAX);
  if (text.trim() === '') return undefined;
  if (!isbot(text) && !UNNOTICED.test(text)) return undefined;
  const bare = text.replace(OF_PEOPLE, '');
  if (bare !== text && !isbot(bare) && !UNNOTICED.test(bare)) return undefined;
  const entry = entryOf(bare);
  return { name: nameIn(bare, entry?.found ?? ''), type: typeOf(bare, entry?.crawler) };
}

/** Bots that the first library takes for browsers. */
const UNNOTICED =
  /\bWindowsPowerShell\/|^Dart\/|\bGTmetrix\b|\bYLT Chrome\/|\bMiniature\.io\/|\bTSM-turingos\b/;

/** Words of browsers that people use, and that the first library takes for bots': Sogou's browser, an addition to Internet Explorer, and Samsung's old telephones. */
const OF_PEOPLE = /\bSogouMobileBrowser\/[\d.]{0,20}|\bchromeframe\b\/?[\d.]{0,20}|\bBada\/[\d.]{1,20}/g;

interface Crawler {
  readonly pattern: string;
  readonly url?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

/** How an entry is looked for: nearly all are plain text, and a search for text needs nothing prepared. */
interface Known {
  readonly crawler: Crawler;
  readonly text: string;
  readonly pattern: RegExp | undefined;
}

// As patterns, all entries together take 40 ms to prepare, in the middle of some request, and again after the engine
// has thrown away what it did not need for a while.
const KNOWN: readonly Known[] = crawlers.map((crawler: Crawler) => {
  const text = plainTextOf(crawler.pattern);
  return { crawler, text, pattern: text === '' ? new RegExp(crawler.pattern) : undefined };
});

/** The text that a pattern stands for; empty when it stands for several. */
function plainTextOf(pattern: string): string {
  const isPlain = /^(?:[^\\^$.*+?()[\]{}|]|\\[^\w])+$/.test(pattern);
  return isPlain ? pattern.replace(/\\(.)/g, '$1') : '';
}

/** Of all entries that fit, the one that fits with the longest text: `Googlebot-Image` rather than `Googlebot`. */
function entryOf(text: string): { crawler: Crawler; found: string } | undefined {
  let best: { crawler: Crawler; found: string } | undefined;
  for (const known of KNOWN) {
    const found = foundOf(known, text);
    if (found.length > (best?.found.length ?? 0)) best = { crawler: known.crawler, found };
  }
  return best;
}

function foundOf(known: Known, text: string): string {
  if (known.pattern !== undefined) return known.pattern.exec(text)?.[0] ?? '';
  return text.includes(known.text) ? known.text : '';
}

/** A word that bots, and no browsers, are made of; and words that browsers are made of. */
const BOT_WORD = /[\w-]{0,40}(?:bot|spider|crawl|slurp|fetch|preview|monitor|favicon|archiver)[\w-]{0,40}/i;
const OF_BROWSERS =
  /^(?:Mozilla|AppleWebKit|KHTML|Chrome|Safari|Version|Mobile|Gecko|Firefox|Opera|Edg|Trident|MSIE|Windows|Linux|X11|U)\b/;
const ADDRESS = /https?:|@|www\.|\.(?:com|net|org|io|ru|de|fr|cz|co)\b/;

/** The name as the text writes it: what the list's pattern found, grown to a whole word; else the likeliest words. */
function nameIn(text: string, found: string): string {
  const listed = /^[^/;()]{0,80}/.exec(found.trim())?.[0].trim() ?? '';
  const name =
    (listed.length > 2 && !ADDRESS.test(listed) ? wholeWord(text, listed) : '') ||
    firstWords(text) ||
    ownWords(text) ||
    (/https?:|@/.test(listed) ? '' : listed);
  return storable(name);
}

// The first place is the best one: later ones are addresses of pages about the bot. Behind a slash all are.
function wholeWord(text: string, name: string): string {
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return name;
  let start = at;
  let end = at + name.length;
  while (start > 0 && /[\w-]/.test(text.charAt(start - 1))) start--;
  while (end < text.length && /[\w-]/.test(text.charAt(end))) end++;
  return /[/@]/.test(text.charAt(start - 1)) ? '' : text.slice(start, end).replace(/[-_]v?\d{1,4}$/, '');
}

/** `Chef Client` of `Chef Client/10.18.2 (ruby)`; empty where the text begins as a browser's. */
function firstWords(text: string): string {
  const words = /^[A-Za-z][\w .!-]{1,60}/.exec(text)?.[0] ?? '';
  return OF_BROWSERS.test(words) ? '' : words.replace(/[\s-]+(?:v?\d[\w.]*)?[\s-]*$/, '');
}

/** What a text that begins as a browser's says of itself. */
function ownWords(text: string): string {
  const compatible = /\bcompatible; ?([A-Za-z][\w .!-]{1,60})/.exec(text)?.[1]?.trim() ?? '';
  if (compatible !== '' && !OF_BROWSERS.test(compatible) && !ADDRESS.test(compatible)) return compatible;
  const bare = text.replace(/\bhttps?:\/\/[^\s;)]{1,200}|[\w.-]{1,60}@[\w.-]{1,60}/g, ' ');
  for (const [, word = ''] of bare.matchAll(/\b([A-Za-z][\w.!-]{1,60})\/[\dv]/g)) {
    if (!OF_BROWSERS.test(word)) return word;
  }
  return BOT_WORD.exec(bare)?.[0] ?? '';
}

function storable(name: string): string {
  return cut(name.replace(/[\p{Cc}\p{Cs}]/gu, ''), NAME_MAX);
}

/** Where the list's words for purposes go, the more telling ones first; it gives some entries two. */
const TYPE_BY_TAG: readonly (readonly [tag: string, type: BotType])[] = [
  ['ai-crawler', 'ai'],
  ['social-preview', 'preview'],
  ['search-engine', 'search'],
  ['feed-reader', 'feed'],
  ['monitoring', 'monitor'],
  ['archiver', 'archiver'],
  ['http-library', 'tool'],
  ['browser-automation', 'tool'],
];

/** The list calls `seo` whatever it has no word for, so its description has to agree. */
const SEO = /\bseo|seo\b|backlink|\brank|\bkeyword|link analysis|site audit|search engine optimi/i;

/** What the list does not say, or says otherwise than those who run the bot. */
const TYPE_BY_WORD: readonly (readonly [type: BotType, pattern: RegExp])[] = [
  ['seo', /\b(?:MJ12bot|BLEXBot|Barkrowler|rogerbot|Ezooms|SiteCheckerBot)/i],
  ['ai', /\b(?:Diffbot|Google-CloudVertexBot|MistralAI|YouBot)/],
  ['search', /\bDaumoa\b|\b(?:Sogou web|360|Yisou) ?Spider|\bVoilaBot\b/],
  ['feed', /^Liferea\b|^LiveJournal/],
  ['preview', /\bGoogle (?:Web Preview|favicon)|\bLivelap/],
];

/** For bots that nobody listed. */
const TYPE_BY_HINT: readonly (readonly [type: BotType, pattern: RegExp])[] = [
  ['feed', /feed|\brss\b|newsify|aggregator|subscribers|\breaders?\b/i],
  ['preview', /preview|unfurl|embed/i],
  ['monitor', /monitor|uptime|\bcheck|validator|link sleuth/i],
  ['archiver', /archiv|httrack/i],
  [
    'tool',
    /headless|curl|wget|http[_-]?(?:client|request)|python|\bperl\b|\bjava\/|\bruby\b|libwww|fetch|powershell|^dart\//i,
  ],
  ['search', /search/i],
];

function typeOf(text: string, crawler: Crawler | undefined): BotType {
  const byWord = TYPE_BY_WORD.find(([, pattern]) => pattern.test(text));
  if (byWord !== undefined) return byWord[0];
  if (isServerProgram(text)) return 'tool';
  if (crawler === undefined) return TYPE_BY_HINT.find(([, pattern]) => pattern.test(text))?.[0] ?? 'other';
  const tags = crawler.tags ?? [];
  const byTag = TYPE_BY_TAG.find(([tag]) => tags.includes(tag));
  if (byTag !== undefined) return byTag[1];
  return tags.includes('seo') && SEO.test(`${crawler.pattern} ${crawler.description ?? ''}`)
    ? 'seo'
    : 'other';
}
