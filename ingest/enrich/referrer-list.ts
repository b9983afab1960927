import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';

/** Types of known services. An unknown one has the empty type. */
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

/** A service with its host patterns: hosts, `name.*` for a name under any country's domain, and `host/section`. */
export interface ListedService extends ReferrerService {
  readonly hostPatterns: readonly string[];
}

/** Texts by the name of their service, separated by spaces. */
const BY_SERVICE = z.record(z.string(), z.string());
const LISTS = z
  .strictObject({
    services: z.record(z.enum(REFERRER_TYPES), BY_SERVICE),
    apps: BY_SERVICE,
    sourceWords: BY_SERVICE,
  })
  .parse(JSON.parse(readFileSync(join(projectRoot, 'ingest/enrich/referrers.json'), 'utf8')));

/** Every known service. Patterns and names are unique; the more specific of two matching patterns counts. */
export const REFERRER_SERVICES: readonly ListedService[] = REFERRER_TYPES.flatMap((type) =>
  Object.entries(LISTS.services[type]).map(([name, hostPatterns]) => ({
    name,
    type,
    hostPatterns: hostPatterns.split(' '),
  })),
);

/**
 * Apps as Android (`android-app://com.google.android.gm/`) and iOS (`ios-app://422689480/`) name them in a referrer: by
 * package, or by their number in the App Store. A package covers every package below it.
 */
export const APPS: Readonly<Record<string, string>> = LISTS.apps;

/**
 * Values of `utm_source` that are not hosts, besides the services' names, which are always recognized. A service with
 * an ordinary word as its name has none, so `utm_source=free` stays unchanged.
 */
export const SOURCE_WORDS: Readonly<Record<string, string>> = LISTS.sourceWords;

const BY_NAME: ReadonlyMap<string, ReferrerService> = new Map(
  REFERRER_SERVICES.map(({ name, type }) => [name, { name, type }]),
);
const BY_HOST_PATTERN: ReadonlyMap<string, ReferrerService> = byHostPattern();
const BY_APP: ReadonlyMap<string, ReferrerService> = byWord(APPS, (word) => word.toLowerCase());
const BY_WORD: ReadonlyMap<string, ReferrerService> = new Map([
  ...byWord(Object.fromEntries(Object.keys(SOURCE_WORDS).map((name) => [name, condensed(name)])), condensed),
  ...byWord(SOURCE_WORDS, condensed),
]);

/** DNS allows no longer names; the limit bounds the walk over the labels. */
const HOST_MAX = 253;
const SECOND_LEVELS: ReadonlySet<string> = new Set(['com', 'co', 'net', 'ne', 'org', 'or']);

/** The service at a host or, where listed, in a section of it. `host` is in lower case, without a port. */
export function serviceAt(host: string, path: string): ReferrerService | undefined {
  if (path.length > 1) {
    const first = path.indexOf('/', 1);
    const second = first < 0 ? -1 : path.indexOf('/', first + 1);
    const section =
      BY_HOST_PATTERN.get(host + (second < 0 ? path : path.slice(0, second))) ??
      BY_HOST_PATTERN.get(host + (first < 0 ? path : path.slice(0, first)));
    if (section !== undefined) return section;
  }
  return serviceOfHost(host);
}

/** The service of an app, by package or number, in any case. */
export function serviceOfApp(app: string): ReferrerService | undefined {
  if (app.length > HOST_MAX) return undefined;
  const name = app.toLowerCase();
  for (let end = name.length; end > 0; end = name.lastIndexOf('.', end - 1)) {
    const service = BY_APP.get(name.slice(0, end));
    if (service !== undefined) return service;
  }
  return undefined;
}

/** The service that a campaign's source means: a host, a URL, a name or a usual word for it, in any case. */
export function serviceOfSource(source: string): ReferrerService | undefined {
  const text = source.toLowerCase();
  const word = condensed(text);
  const known = BY_WORD.get(word) ?? BY_WORD.get(word.replace(/ads?$/, ''));
  if (known !== undefined || !text.includes('.')) return known;
  const address = text.replace(/^https?:\/\//, '').replace(/^www\./, '');
  const slash = address.indexOf('/');
  return slash < 0 ? serviceAt(address, '') : serviceAt(address.slice(0, slash), address.slice(slash));
}

/** Compares whole labels, from the full host upwards, in one or two look-ups per label. */
function serviceOfHost(host: string): ReferrerService | undefined {
  if (host.length > HOST_MAX) return undefined;
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  const stemEnd = name.length - countryDomainLength(name);
  for (let start = 0; start >= 0; start = name.indexOf('.', start) + 1 || -1) {
    const service =
      BY_HOST_PATTERN.get(start === 0 ? name : name.slice(start)) ??
      (start < stemEnd ? BY_HOST_PATTERN.get(`${name.slice(start, stemEnd)}.*`) : undefined);
    if (service !== undefined) return service;
  }
  return undefined;
}

/** The length of the suffix that `.*` matches: `.com`, `.de`, `.co.uk`; the whole host when it ends otherwise. */
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

/** Normalizes names for comparison: `Hacker News`, `hacker_news` and `hackernews` are equal. */
function condensed(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]+/g, '');
}

function byHostPattern(): Map<string, ReferrerService> {
  const services = new Map<string, ReferrerService>();
  for (const { name, hostPatterns } of REFERRER_SERVICES)
    for (const hostPattern of hostPatterns) services.set(hostPattern, must(BY_NAME.get(name), name));
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
