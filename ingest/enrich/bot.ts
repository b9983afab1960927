import crawlers from 'crawler-user-agents';
import { isbot } from 'isbot';
import { cut } from './page.ts';
import { isServerProgram } from './user-agent-device.ts';
import { USER_AGENT_MAX } from './user-agent-version.ts';

/** A program that reads pages without a person behind it. `name` is its own name for itself; empty when it gives none. */
export interface Bot {
  readonly name: string;
  readonly type: BotType;
}

/**
 * The purposes of bots. `ai`: collects or fetches for language models; `preview`: shows a shared link; `tool`: libraries, command lines and
 * remote-controlled browsers; `other`: advertising, scanners and everything unknown.
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
 * The bot behind a user agent; undefined for anything else. Two libraries are used: `isbot` decides in one search;
 * `crawler-user-agents`, some 1,500 patterns searched only for bots, gives the bot.
 *
 * The code below only picks name and purpose from both. ua-parser-js was rejected: version 1 recognizes no bots, and
 * version 2 is AGPL.
 *
 * An empty user agent is not a bot: privacy-minded browsers and libraries in mobile apps send none, and a bot that
 * hides sends a browser's.
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

/** Bots that `isbot` takes for browsers. */
const UNNOTICED =
  /\bWindowsPowerShell\/|^Dart\/|\bGTmetrix\b|\bYLT Chrome\/|\bMiniature\.io\/|\bTSM-turingos\b/;

/**
 * Words in browsers and apps that people use and `isbot` takes for bots: Sogou's browser, a plug-in of Internet Explorer,
 * Samsung's old phones, and the HTTP library of Android apps.
 */
const OF_PEOPLE =
  /\bokhttp\/[\w.-]{0,20}|\bSogouMobileBrowser\/[\d.]{0,20}|\bchromeframe\b\/?[\d.]{0,20}|\bBada\/[\d.]{1,20}/g;

interface Crawler {
  readonly pattern: string;
  readonly url?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

/** The search for an entry. Nearly all are plain text, which needs no compiled pattern. */
interface Known {
  readonly crawler: Crawler;
  readonly text: string;
  readonly pattern: RegExp | undefined;
}

// Compiling all entries as patterns takes 40 ms, in the middle of a request, and again after the engine dropped the
// compiled code.
const KNOWN: readonly Known[] = crawlers.map((crawler: Crawler) => {
  const text = plainTextOf(crawler.pattern);
  return { crawler, text, pattern: text === '' ? new RegExp(crawler.pattern) : undefined };
});

/** The text that a pattern matches; empty when it matches several. */
function plainTextOf(pattern: string): string {
  const isPlain = /^(?:[^\\^$.*+?()[\]{}|]|\\[^\w])+$/.test(pattern);
  return isPlain ? pattern.replace(/\\(.)/g, '$1') : '';
}

/** The entry with the longest match: `Googlebot-Image` rather than `Googlebot`. */
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

/** Words that only bots' names contain, and words that browsers' user agents consist of. */
const BOT_WORD = /[\w-]{0,40}(?:bot|spider|crawl|slurp|fetch|preview|monitor|favicon|archiver)[\w-]{0,40}/i;
const OF_BROWSERS =
  /^(?:Mozilla|AppleWebKit|KHTML|Chrome|Safari|Version|Mobile|Gecko|Firefox|Opera|Edg|Trident|MSIE|Windows|Linux|X11|U)\b/;
const ADDRESS = /https?:|@|www\.|\.(?:com|net|org|io|ru|de|fr|cz|co)\b/;

/** The name as the text writes it: the list's match extended to a whole word, else the likeliest words. */
function nameIn(text: string, found: string): string {
  const listed = /^[^/;()]{0,80}/.exec(found.trim())?.[0].trim() ?? '';
  const name =
    (listed.length > 2 && !ADDRESS.test(listed) ? wholeWord(text, listed) : '') ||
    firstWords(text) ||
    ownWords(text) ||
    (/https?:|@/.test(listed) ? '' : listed);
  return storable(name);
}

// The first occurrence is the best one: later ones are URLs about the bot, as is everything behind a slash.
function wholeWord(text: string, name: string): string {
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return name;
  let start = at;
  let end = at + name.length;
  while (start > 0 && /[\w-]/.test(text.charAt(start - 1))) start--;
  while (end < text.length && /[\w-]/.test(text.charAt(end))) end++;
  return /[/@]/.test(text.charAt(start - 1)) ? '' : text.slice(start, end).replace(/[-_]v?\d{1,4}$/, '');
}

/** `Chef Client` of `Chef Client/10.18.2 (ruby)`; empty when the text begins like a browser's. */
function firstWords(text: string): string {
  const words = /^[A-Za-z][\w .!-]{1,60}/.exec(text)?.[0] ?? '';
  return OF_BROWSERS.test(words) ? '' : words.replace(/[\s-]+(?:v?\d[\w.]*)?[\s-]*$/, '');
}

/** The name inside a text that begins like a browser's. */
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

/** Types of the list's tags, the more specific tags first; some entries have two. */
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

/** The list also uses `seo` for bots that fit no other tag, so the description has to agree. */
const SEO = /\bseo|seo\b|backlink|\brank|\bkeyword|link analysis|site audit|search engine optimi/i;

/** Bots whose purpose the list omits, or states otherwise than their operators do. */
const TYPE_BY_WORD: readonly (readonly [type: BotType, pattern: RegExp])[] = [
  ['seo', /\b(?:MJ12bot|BLEXBot|Barkrowler|rogerbot|Ezooms|SiteCheckerBot)/i],
  ['ai', /\b(?:Diffbot|Google-CloudVertexBot|MistralAI|YouBot)/],
  ['search', /\bDaumoa\b|\b(?:Sogou web|360|Yisou) ?Spider|\bVoilaBot\b/],
  ['feed', /^Liferea\b|^LiveJournal/],
  ['preview', /\bGoogle (?:Web Preview|favicon)|\bLivelap/],
];

/** For bots that are not on the list. */
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
