import { NO_SOURCE, type Source } from '../event.ts';
import { channelOf } from './channel.ts';
import { cut, type Page } from './page.ts';
import { type ReferrerType, serviceAt, serviceOfApp, serviceOfSource } from './referrer-list.ts';

const REFERRER_MAX = 2048;
const NAME_MAX = 256;

const DIRECT: Source = { ...NO_SOURCE, channel: 'Direct' };

/** A referrer and the hosts of both sides; a host is empty when unknown, and has no `www.` */
export interface Referral {
  readonly referrer: string;
  readonly referrerHost: string;
  readonly ownHost: string;
}

/**
 * Where a visit came from; a pure function. A page of the same host is no source, nor is a bare path. Name and type are
 * those of the service that the referring host or app belongs to, or else the host itself. The campaign's source was
 * set on purpose, so it overrides the referrer.
 */
export function sourceOf({ referrer, referrerHost, ownHost }: Referral, page: Page): Source {
  const outside =
    referrer !== '' && !referrer.startsWith('/') && (referrerHost === '' || referrerHost !== ownHost);
  if (!outside && page.query === '') return DIRECT;
  const named = outside ? referrerOf(referrer, referrerHost) : NO_REFERRER;
  const { name, type } = page.utmSource === '' ? named : campaignReferrer(page.utmSource);
  return {
    referrer: outside ? cut(referrer, REFERRER_MAX) : '',
    referrerName: name,
    referrerType: type,
    utmSource: page.utmSource,
    utmMedium: page.utmMedium,
    utmCampaign: page.utmCampaign,
    utmTerm: page.utmTerm,
    utmContent: page.utmContent,
    channel: channelOf({
      referrerType: type,
      hasReferrer: outside,
      utmSource: page.utmSource,
      utmMedium: page.utmMedium,
      utmCampaign: page.utmCampaign,
      query: page.query,
    }),
  };
}

interface NamedReferrer {
  readonly name: string;
  readonly type: ReferrerType | '';
}

const NO_REFERRER: NamedReferrer = { name: '', type: '' };
const APP = /^(?:android|ios)-app:\/\/([^/?#]+)/i;

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
