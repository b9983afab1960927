import type { Source } from './event.ts';
import { cut, type Page } from './page.ts';

const REFERRER_MAX = 2048;
const NAME_MAX = 256;

/** A referrer and the hosts of both sides; a host is empty when it is not known. */
export interface Referral {
  readonly referrer: string;
  readonly referrerHost: string;
  readonly ownHost: string;
}

/**
 * Where a visit came from. A page of the same host is no source, nor is a bare path. The name is the referring host;
 * the campaign's source, which somebody wrote on purpose, goes before it.
 */
export function sourceOf({ referrer, referrerHost, ownHost }: Referral, page: Page): Source {
  const outside =
    referrer !== '' && !referrer.startsWith('/') && (referrerHost === '' || referrerHost !== ownHost);
  return {
    referrer: outside ? cut(referrer, REFERRER_MAX) : '',
    referrerName: page.utmSource || (outside ? cut(referrerHost, NAME_MAX) : ''),
    referrerType: '',
    utmSource: page.utmSource,
    utmMedium: page.utmMedium,
    utmCampaign: page.utmCampaign,
    utmTerm: page.utmTerm,
    utmContent: page.utmContent,
    channel: '',
  };
}
