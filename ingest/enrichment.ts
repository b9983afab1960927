import { LRUCache } from 'lru-cache';
import { NO_SETTING, type Setting, type Source } from './event.ts';
import { hostOf, type Page, pageOf } from './page.ts';
import { sourceOf } from './referrer.ts';

const CACHED_MAX = 5_000;
/** Longer texts are worked out each time, so that the caches stay small in bytes too. */
const CACHED_TEXT_MAX = 512;

const SERVER: Setting = { ...NO_SETTING, device: 'server' };

/** Derives what an event says about its page, its source and its setting; the same texts are worked out once. */
export class Enrichment {
  readonly #pages = new LRUCache<string, Page>({ max: CACHED_MAX });
  readonly #hosts = new LRUCache<string, string>({ max: CACHED_MAX });

  page(text: string): Page {
    const known = this.#pages.get(text);
    if (known !== undefined) return known;
    const page = pageOf(text);
    if (text.length <= CACHED_TEXT_MAX) this.#pages.set(text, page);
    return page;
  }

  /** `origin` is the browser's word for the page's origin, used when the page was named by its path alone. */
  source(referrer: string, page: Page, origin: string): Source {
    if (referrer === '') return sourceOf({ referrer, referrerHost: '', ownHost: '' }, page);
    const ownHost = page.host || this.#host(origin);
    return sourceOf({ referrer, referrerHost: this.#host(referrer), ownHost }, page);
  }

  setting(serverSide: boolean): Setting {
    return serverSide ? SERVER : NO_SETTING;
  }

  #host(text: string): string {
    const known = this.#hosts.get(text);
    if (known !== undefined) return known;
    const host = hostOf(text);
    if (text.length <= CACHED_TEXT_MAX) this.#hosts.set(text, host);
    return host;
  }
}
