import { LRUCache } from 'lru-cache';
import { type Environment, NO_ENVIRONMENT, type Source } from '../event.ts';
import { type Bot, botOf } from './bot.ts';
import { type Locale, Locales } from './locale.ts';
import type { LocationLookup } from './location-lookup.ts';
import { hostOf, type Page, pageOf } from './page.ts';
import { sourceOf } from './referrer.ts';
import { type Software, softwareOf } from './user-agent.ts';
import type { ClientHints } from './user-agent-hints.ts';

const CACHED_MAX = 5_000;
/** Longer texts are never cached, so that the caches are bounded in bytes, too. */
const CACHED_TEXT_MAX = 1_024;

/** What a user agent and its hints say. */
interface Agent {
  readonly software: Software;
  readonly bot: Bot | undefined;
}

interface LastSource {
  readonly referrer: string;
  readonly origin: string;
  readonly source: Source;
}

/**
 * Derives an event's page, source and environment from the texts of a request; the results of recent texts are cached.
 */
export class Enrichment {
  readonly #locations: LocationLookup;
  readonly #locales = new Locales();
  readonly #pages = new LRUCache<string, Page>({ max: CACHED_MAX });
  readonly #hosts = new LRUCache<string, string>({ max: CACHED_MAX });
  /** The last source of each page: most pages are reached in one way. */
  readonly #sources = new WeakMap<Page, LastSource>();
  readonly #agents = new LRUCache<string, Agent>({ max: CACHED_MAX });

  constructor(locations: LocationLookup) {
    this.#locations = locations;
  }

  page(text: string): Page {
    const known = this.#pages.get(text);
    if (known !== undefined) return known;
    const page = pageOf(text);
    if (text.length <= CACHED_TEXT_MAX) this.#pages.set(text, page);
    return page;
  }

  /** `origin` is the page's origin as the browser sends it, for pages that are named by their path alone. */
  source(referrer: string, page: Page, origin: string): Source {
    if (referrer === '' && page.query === '')
      return sourceOf({ referrer, referrerHost: '', ownHost: '' }, page);
    const last = this.#sources.get(page);
    if (last !== undefined && last.referrer === referrer && last.origin === origin) return last.source;
    const ownHost = page.host || this.#host(origin);
    const source = sourceOf({ referrer, referrerHost: this.#host(referrer), ownHost }, page);
    if (referrer.length <= CACHED_TEXT_MAX) this.#sources.set(page, { referrer, origin, source });
    return source;
  }

  /** The bot behind a user agent; undefined when it is not a bot's. */
  bot(userAgent: string, hints: ClientHints): Bot | undefined {
    return this.#agent(userAgent, hints).bot;
  }

  /** The locale that a body claims; `acceptLanguage` is the header of a browser, else empty. */
  locale(claims: Locale, acceptLanguage: string): Locale {
    return this.#locales.of(claims, acceptLanguage);
  }

  /** The visitor's environment; an unknown address is the empty text. */
  environment(
    userAgent: string,
    hints: ClientHints,
    address: string,
    { language, timezone, screen }: Locale,
  ): Environment {
    const { software } = this.#agent(userAgent, hints);
    const { country, region, city, longitude, latitude } = this.#locations.of(address);
    const { browser, browserVersion, os, osVersion, device, brand, model } = software;
    return {
      country,
      region,
      city,
      longitude,
      latitude,
      browser,
      browserVersion,
      os,
      osVersion,
      device,
      brand,
      model,
      language,
      timezone,
      screen,
    };
  }

  /** The environment of a server-side program; the address is the visitor's that it speaks for. */
  serverEnvironment(address: string, locale: Locale): Environment {
    return { ...NO_ENVIRONMENT, ...this.#locations.of(address), ...locale, device: 'server' };
  }

  #agent(userAgent: string, hints: ClientHints): Agent {
    const { ua, mobile, platform, platformVersion, model } = hints;
    const key =
      ua === '' ? userAgent : `${userAgent}\n${ua}\n${mobile}\n${platform}\n${platformVersion}\n${model}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const agent = { software: softwareOf(userAgent, hints), bot: botOf(userAgent) };
    // User agents are cut to a real one's length, so that one entry with its hints takes a few kilobytes at most.
    this.#agents.set(key, agent);
    return agent;
  }

  #host(text: string): string {
    const known = this.#hosts.get(text);
    if (known !== undefined) return known;
    const host = hostOf(text);
    if (text.length <= CACHED_TEXT_MAX) this.#hosts.set(text, host);
    return host;
  }
}
