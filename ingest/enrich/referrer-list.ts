import { must } from '../../infra/assert.ts';
import { AD_NETWORKS, AFFILIATE_NETWORKS } from './referrer-advertising.ts';
import { MAIL_SERVICES } from './referrer-mail.ts';
import { NEWS_SITES, SHOPS, VIDEO_SITES } from './referrer-media.ts';
import { APPS, SOURCE_WORDS } from './referrer-names.ts';
import { SEARCH_ENGINES } from './referrer-search.ts';
import { SOCIAL_NETWORKS } from './referrer-social.ts';
import { AI_ASSISTANTS, WORK_TOOLS } from './referrer-work.ts';

/** What a service that is known by name can be. The type of an unknown one is empty. */
export const REFERRER_TYPES = [
  'search',
  'social',
  'email',
  'ai',
  'video',
  'shopping',
  'news',
  'paid',
  'affiliate',
  'work',
] as const;

export type ReferrerType = (typeof REFERRER_TYPES)[number];

/** A service that visitors come from. */
export interface ReferrerService {
  readonly name: string;
  readonly type: ReferrerType;
}

/** A service with where it lives: hosts, `name.*` for a name under every country's domain, and `host/section`. */
export interface ListedService extends ReferrerService {
  readonly places: readonly string[];
}

/** Every service that is known. No place occurs twice, no name either; of two places that fit, the narrower counts. */
export const REFERRER_SERVICES: readonly ListedService[] = [
  ...listed('search', SEARCH_ENGINES),
  ...listed('social', SOCIAL_NETWORKS),
  ...listed('email', MAIL_SERVICES),
  ...listed('ai', AI_ASSISTANTS),
  ...listed('video', VIDEO_SITES),
  ...listed('shopping', SHOPS),
  ...listed('news', NEWS_SITES),
  ...listed('paid', AD_NETWORKS),
  ...listed('affiliate', AFFILIATE_NETWORKS),
  ...listed('work', WORK_TOOLS),
];

const BY_NAME: ReadonlyMap<string, ReferrerService> = new Map(
  REFERRER_SERVICES.map(({ name, type }) => [name, { name, type }]),
);
const BY_PLACE: ReadonlyMap<string, ReferrerService> = byPlace();
const BY_APP: ReadonlyMap<string, ReferrerService> = byWord(APPS, (word) => word.toLowerCase());
const BY_WORD: ReadonlyMap<string, ReferrerService> = new Map([
  ...byWord(Object.fromEntries(Object.keys(SOURCE_WORDS).map((name) => [name, condensed(name)])), condensed),
  ...byWord(SOURCE_WORDS, condensed),
]);

/** Longer names belong to no host that could be reached; the limit bounds the walk over the labels. */
const HOST_MAX = 253;
const SECOND_LEVELS: ReadonlySet<string> = new Set(['com', 'co', 'net', 'ne', 'org', 'or']);

/** The service at a host or, where one is listed, in a section of it. `host` is in lower case, without a port. */
export function serviceAt(host: string, path: string): ReferrerService | undefined {
  if (path.length > 1) {
    const first = path.indexOf('/', 1);
    const second = first < 0 ? -1 : path.indexOf('/', first + 1);
    const section =
      BY_PLACE.get(host + (second < 0 ? path : path.slice(0, second))) ??
      BY_PLACE.get(host + (first < 0 ? path : path.slice(0, first)));
    if (section !== undefined) return section;
  }
  return serviceOfHost(host);
}

/** The service of an app, by its package or its number, in any case. */
export function serviceOfApp(app: string): ReferrerService | undefined {
  if (app.length > HOST_MAX) return undefined;
  const name = app.toLowerCase();
  for (let end = name.length; end > 0; end = name.lastIndexOf('.', end - 1)) {
    const service = BY_APP.get(name.slice(0, end));
    if (service !== undefined) return service;
  }
  return undefined;
}

/** The service that a campaign's source means: a host, an address, a name or a usual word for it, in any case. */
export function serviceOfSource(source: string): ReferrerService | undefined {
  const text = source.toLowerCase();
  const word = condensed(text);
  const known = BY_WORD.get(word) ?? BY_WORD.get(word.replace(/ads?$/, ''));
  if (known !== undefined || !text.includes('.')) return known;
  const address = text.replace(/^https?:\/\//, '').replace(/^www\./, '');
  const slash = address.indexOf('/');
  return slash < 0 ? serviceAt(address, '') : serviceAt(address.slice(0, slash), address.slice(slash));
}

/** Whole labels only, from the narrowest host outwards: one or two look-ups a label. */
function serviceOfHost(host: string): ReferrerService | undefined {
  if (host.length > HOST_MAX) return undefined;
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  const stemEnd = name.length - countryDomainLength(name);
  for (let start = 0; start >= 0; start = name.indexOf('.', start) + 1 || -1) {
    const service =
      BY_PLACE.get(start === 0 ? name : name.slice(start)) ??
      (start < stemEnd ? BY_PLACE.get(`${name.slice(start, stemEnd)}.*`) : undefined);
    if (service !== undefined) return service;
  }
  return undefined;
}

/** How much of a host's end a `.*` stands for: `.com`, `.de`, `.co.uk`; the whole host when it ends otherwise. */
function countryDomainLength(host: string): number {
  const last = host.lastIndexOf('.');
  if (last <= 0) return host.length;
  const top = host.slice(last + 1);
  if (top === 'com') return 4;
  if (top.length !== 2) return host.length;
  const before = host.lastIndexOf('.', last - 1);
  const isSecondLevel = before > 0 && SECOND_LEVELS.has(host.slice(before + 1, last));
  return isSecondLevel ? host.length - before : host.length - last;
}

/** How names and words are compared: `Hacker News`, `hacker_news` and `hackernews` are one. */
function condensed(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]+/g, '');
}

function listed(type: ReferrerType, services: Readonly<Record<string, string>>): ListedService[] {
  return Object.entries(services).map(([name, places]) => ({ name, type, places: places.split(' ') }));
}

function byPlace(): Map<string, ReferrerService> {
  const services = new Map<string, ReferrerService>();
  for (const { name, places } of REFERRER_SERVICES)
    for (const place of places) services.set(place, must(BY_NAME.get(name), name));
  return services;
}

function byWord(
  words: Readonly<Record<string, string>>,
  keyOf: (word: string) => string,
): Map<string, ReferrerService> {
  const services = new Map<string, ReferrerService>();
  for (const [name, list] of Object.entries(words)) {
    const service = must(BY_NAME.get(name), `${name} is in no list of services`);
    for (const word of list.split(' ')) if (word !== '') services.set(keyOf(word), service);
  }
  return services;
}
