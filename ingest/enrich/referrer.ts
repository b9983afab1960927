import { NO_SOURCE, type Source } from '../event.ts';
import { channelOf } from './channel.ts';
import { type Campaign, campaignOf, cut, hostOf, type Page, pageOf } from './page.ts';
import { type ReferrerType, serviceAt, serviceOfApp, serviceOfSource } from './referrer-list.ts';

/** Characters of a referrer; a longer one is cut before it is read. */
export const REFERRER_MAX = 2048;
const NAME_MAX = 256;

const DIRECT: Source = { ...NO_SOURCE, channel: 'Direct' };

/** A referrer and the hosts of both sides; a host is empty when unknown, and has no `www.` */
export interface Referral {
  readonly referrer: string;
  readonly referrerHost: string;
  readonly ownHost: string;
}

/**
 * True if a text can be a referrer: a URL of the web or of an app, a URL of another scheme, a path, the parameters of an installation, or
 * nothing.
 */
export function isReferrer(text: string): boolean {
  if (text === '' || text.startsWith('/') || text.startsWith('about:')) return true;
  if (/^https?:/i.test(text)) return hostOf(text) !== '';
  if (/^(?:android|ios)-app:/i.test(text)) return APP.test(text);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) || INSTALLATION.test(text);
}

/**
 * The source of a visit; a pure function. A page of the same host is no source, nor is a path or the page of a web view or an extension.
 * Name and type describe the service that the referring host or app belongs to, or else the host itself. The campaign's source was set on
 * purpose, so it overrides the referrer.
 *
 * A referrer is stored without query and hash, which may hold what a visitor searched for.
 */
export function sourceOf({ referrer, referrerHost, ownHost }: Referral, page: Page): Source {
  const outside = referrerHost === '' ? APP.test(referrer) : referrerHost !== ownHost;
  const query = page.query === '' && INSTALLATION.test(referrer) ? `?${referrer}` : page.query;
  if (!outside && query === '') return DIRECT;
  const campaign: Campaign = query === page.query ? page : campaignOf(query);
  const { utmSource, utmMedium, utmCampaign, utmTerm, utmContent } = campaign;
  const named = outside ? referrerOf(referrer, referrerHost) : NO_REFERRER;
  const { name, type } = utmSource === '' ? named : campaignReferrer(utmSource);
  return {
    referrer: outside ? cut(addressOf(referrer, referrerHost), REFERRER_MAX) : '',
    referrerName: name,
    referrerType: type,
    utmSource,
    utmMedium,
    utmCampaign,
    utmTerm,
    utmContent,
    channel: channelOf({
      referrerType: type,
      hasReferrer: outside,
      utmSource,
      utmMedium,
      utmCampaign,
      query,
    }),
  };
}

/** Origin and path of a referrer. */
function addressOf(referrer: string, host: string): string {
  if (host === '') return referrer.split(/[?#]/, 1)[0] ?? '';
  const { origin, path } = pageOf(referrer);
  return origin + path;
}

interface NamedReferrer {
  readonly name: string;
  readonly type: ReferrerType | '';
}

const NO_REFERRER: NamedReferrer = { name: '', type: '' };
const APP = /^(?:android|ios)-app:\/\/([^/?#]+)/i;
/** Android's referrer of an app's installation, such as `utm_source=google-play&utm_medium=organic`. */
const INSTALLATION = /^[\w.%-]+=/;

/** The service, host or app that a referrer names. */
function referrerOf(referrer: string, host: string): NamedReferrer {
  if (host !== '') return serviceAt(host, pathOf(referrer)) ?? { name: cut(host, NAME_MAX), type: '' };
  const app = APP.exec(referrer)?.[1];
  if (app === undefined) return NO_REFERRER;
  return serviceOfApp(app) ?? { name: cut(app, NAME_MAX), type: '' };
}

function campaignReferrer(source: string): NamedReferrer {
  return serviceOfSource(source) ?? { name: source, type: '' };
}

/** The path of a web URL, without query and hash; empty when there is none. */
function pathOf(address: string): string {
  const start = address.indexOf('/', address.indexOf('://') + 3);
  if (start < 0) return '';
  const length = address.slice(start).search(/[?#]/);
  return length < 0 ? address.slice(start) : address.slice(start, start + length);
}
