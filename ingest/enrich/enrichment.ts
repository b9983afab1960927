import { LRUCache } from 'lru-cache';
import { type Environment, NO_ENVIRONMENT, type Source } from '../event.ts';
import { type Bot, botOf } from './bot.ts';
import { type Locale, Locales } from './locale.ts';
import type { LocationLookup } from './location-lookup.ts';
import { type HashNames, hostOf, type Page, pageOf } from './page.ts';
import { sourceOf } from './referrer.ts';
import { spamDomainOf } from './referrer-spam.ts';
import { claimedSoftware, type SoftwareClaim } from './software-claim.ts';
import { isVisitorAgent, type Software, softwareOf } from './user-agent.ts';
import type { ClientHints } from './user-agent-hints.ts';

const CACHED_MAX = 5_000;
/** Longer texts are never cached, so that the caches are bounded in bytes, too. */
const CACHED_TEXT_MAX = 1_024;

/** Facts from a user agent and its hints. */
interface Agent {
  readonly software: Software;
  readonly bot: Bot | undefined;
  readonly isVisitors: boolean;
}

/** All claims of a request about the software of its visitor. */
export interface AgentClaims {
  readonly userAgent: string;
  readonly hints: ClientHints;
  readonly claim: SoftwareClaim;
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
  readonly #pages: Readonly<Record<HashNames, LRUCache<string, Page>>> = {
    section: new LRUCache({ max: CACHED_MAX }),
    page: new LRUCache({ max: CACHED_MAX }),
  };
  readonly #hosts = new LRUCache<string, string>({ max: CACHED_MAX });
  /** The last source of each page: most pages are reached in one way. */
  readonly #sources = new WeakMap<Page, LastSource>();
  readonly #agents = new LRUCache<string, Agent>({ max: CACHED_MAX });

  constructor(locations: LocationLookup) {
    this.#locations = locations;
  }

  page(text: string, hashNames: HashNames): Page {
    const pages = this.#pages[hashNames];
    const known = pages.get(text);
    if (known !== undefined) return known;
    const page = pageOf(text, hashNames);
    if (text.length <= CACHED_TEXT_MAX) pages.set(text, page);
    return page;
  }

  /** `origin` is the page's origin as the browser sends it, for pages that are named only by their path. */
  source(referrer: string, page: Page, origin: string): Source {
    if (referrer === '' && page.query === '')
      return sourceOf({ referrer, referrerHost: '', ownHost: '' }, page);
    const last = this.#sources.get(page);
    if (last !== undefined && last.referrer === referrer && last.origin === origin) return last.source;
    const ownHost = page.host || this.#host(origin);
    const source = sourceOf({ referrer, referrerHost: this.#host(referrer), ownHost }, page);
    if (referrer.length + origin.length <= CACHED_TEXT_MAX)
      this.#sources.set(page, { referrer, origin, source });
    return source;
  }

  /**
   * The domain of referrer spam that a referrer belongs to; undefined when it is no spam, or a page of the site itself. `page` and `origin`
   * are the same as in `source`.
   */
  spamDomain(referrer: string, page: Page, origin: string): string | undefined {
    if (referrer === '') return undefined;
    const host = this.#host(referrer);
    const domain = spamDomainOf(host);
    return domain !== undefined && host !== (page.host || this.#host(origin)) ? domain : undefined;
  }

  /** The bot behind a user agent; undefined when it is not a bot's. */
  bot(userAgent: string, hints: ClientHints): Bot | undefined {
    return this.#agent(userAgent, hints).bot;
  }

  /** True if the user agent belongs to a browser or an app. */
  isVisitors(userAgent: string, hints: ClientHints): boolean {
    return this.#agent(userAgent, hints).isVisitors;
  }

  /** The locale that a body claims; `acceptLanguage` is the header of a browser, else empty. */
  locale(claims: Locale, acceptLanguage: string): Locale {
    return this.#locales.of(claims, acceptLanguage);
  }

  /** The visitor's environment; an unknown address is the empty text. */
  environment(
    { userAgent, hints, claim }: AgentClaims,
    address: string,
    { language, timezone, screen }: Locale,
  ): Environment {
    const software = claimedSoftware(this.#agent(userAgent, hints).software, claim);
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

  /**
   * The environment of a server-side program, with the address of its visitor. Such a program does not report the
   * device of a visitor that it names.
   */
  serverEnvironment(address: string, locale: Locale, namesDevice: boolean): Environment {
    const device = namesDevice ? '' : 'server';
    return { ...NO_ENVIRONMENT, ...this.#locations.of(address), ...locale, device };
  }

  #agent(userAgent: string, hints: ClientHints): Agent {
    const { ua, mobile, platform, platformVersion, model } = hints;
    const key =
      ua === '' ? userAgent : `${userAgent}\n${ua}\n${mobile}\n${platform}\n${platformVersion}\n${model}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const software = softwareOf(userAgent, hints);
    const agent: Agent = {
      software,
      bot: botOf(userAgent),
      isVisitors: isVisitorAgent(userAgent, software),
    };
    // User agents are cut to a realistic length, so an entry with its hints takes a few kilobytes at most.
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
