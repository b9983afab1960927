import type { ReferrerType } from './referrer-list.ts';

/** The channels in the order of their rules; the last takes what no rule matched. */
export const CHANNELS = [
  'Direct',
  'Cross-network',
  'Paid Shopping',
  'Paid Search',
  'Paid Social',
  'Paid Video',
  'Display',
  'Paid Other',
  'AI Assistants',
  'Organic Shopping',
  'Organic Social',
  'Organic Video',
  'Organic Search',
  'Email',
  'Affiliates',
  'Referral',
  'Audio',
  'SMS',
  'Mobile Push Notifications',
  'Unassigned',
] as const;

export type Channel = (typeof CHANNELS)[number];

/** Everything that decides a channel. Texts as they were sent; empty when absent. */
export interface Arrival {
  /** The type of the campaign's source, or else of the referrer; empty when it is unknown. */
  readonly referrerType: ReferrerType | '';
  /** There is a referrer, and it is not the site itself. */
  readonly hasReferrer: boolean;
  readonly utmSource: string;
  readonly utmMedium: string;
  readonly utmCampaign: string;
  /** The page's query with its `?`. Advertisers add click ids to it. */
  readonly query: string;
}

/** The input of the rules. Texts are in lower case. */
interface Traffic {
  readonly type: ReferrerType | '';
  readonly source: string;
  readonly medium: string;
  readonly campaign: string;
}

/** The meaning of a click id when the campaign names no medium. */
interface Click {
  readonly type: ReferrerType | '';
  readonly medium: string;
}

// From the advertisers' help pages. Ids without a medium are on every link out of a network, paid or not, and get copied along with it, so
// they count only without a referrer.
const CLICKS: ReadonlyMap<string, Click> = new Map([
  ['gclid', { type: 'search', medium: 'cpc' }],
  ['gbraid', { type: 'search', medium: 'cpc' }],
  ['wbraid', { type: 'search', medium: 'cpc' }],
  ['gad_source', { type: 'search', medium: 'cpc' }],
  ['dclid', { type: '', medium: 'display' }],
  ['msclkid', { type: 'search', medium: 'cpc' }],
  ['yclid', { type: 'search', medium: 'cpc' }],
  ['ttclid', { type: 'social', medium: 'cpc' }],
  ['twclid', { type: 'social', medium: 'cpc' }],
  ['li_fat_id', { type: 'social', medium: 'cpc' }],
  ['rdt_cid', { type: 'social', medium: 'cpc' }],
  ['sccid', { type: 'social', medium: 'cpc' }],
  ['epik', { type: 'social', medium: '' }],
  ['fbclid', { type: 'social', medium: '' }],
  ['igsh', { type: 'social', medium: '' }],
  ['igshid', { type: 'social', medium: '' }],
  ['mc_cid', { type: 'email', medium: 'email' }],
  ['mc_eid', { type: 'email', medium: 'email' }],
  ['_hsenc', { type: 'email', medium: 'email' }],
  ['_kx', { type: 'email', medium: 'email' }],
]);

const PAID = /^(.*cp.*|ppc|retargeting|paid.*)$/s;
const SHOPPING = /^(.*(([^a-df-z]|^)shop|shopping).*)$/s;
const DISPLAY: ReadonlySet<string> = new Set(['display', 'banner', 'expandable', 'interstitial', 'cpm']);
const SOCIAL: ReadonlySet<string> = new Set([
  'social',
  'social-network',
  'social-media',
  'sm',
  'social network',
  'social media',
]);
const EMAIL: ReadonlySet<string> = new Set(['email', 'e-mail', 'e_mail', 'e mail']);
const REFERRAL: ReadonlySet<string> = new Set(['referral', 'app', 'link']);
const NO_MEDIUM: ReadonlySet<string> = new Set(['', '(none)', '(not set)']);

/** One rule per channel. */
const RULES: readonly (readonly [Channel, (traffic: Traffic) => boolean])[] = [
  ['Direct', ({ source, medium }) => source === '(direct)' && NO_MEDIUM.has(medium)],
  ['Cross-network', ({ campaign }) => campaign.includes('cross-network')],
  ['Paid Shopping', (traffic) => isShopping(traffic) && PAID.test(traffic.medium)],
  ['Paid Search', ({ type, medium }) => type === 'search' && PAID.test(medium)],
  ['Paid Social', ({ type, medium }) => type === 'social' && PAID.test(medium)],
  ['Paid Video', ({ type, medium }) => type === 'video' && PAID.test(medium)],
  ['Display', ({ medium }) => DISPLAY.has(medium)],
  ['Paid Other', ({ type, medium }) => PAID.test(medium) || type === 'paid'],
  ['AI Assistants', ({ type, medium }) => type === 'ai' || medium === 'ai-assistant'],
  ['Organic Shopping', isShopping],
  ['Organic Social', ({ type, medium }) => type === 'social' || SOCIAL.has(medium)],
  ['Organic Video', ({ type, medium }) => type === 'video' || medium.includes('video')],
  ['Organic Search', ({ type, medium }) => type === 'search' || medium === 'organic'],
  ['Email', ({ type, source, medium }) => EMAIL.has(source) || EMAIL.has(medium) || type === 'email'],
  ['Affiliates', ({ type, medium }) => medium === 'affiliate' || type === 'affiliate'],
  ['Referral', ({ medium }) => REFERRAL.has(medium)],
  ['Audio', ({ medium }) => medium === 'audio'],
  ['SMS', ({ source, medium }) => source === 'sms' || medium === 'sms'],
  ['Mobile Push Notifications', isPush],
];

/**
 * The channel of the first rule that matches an arrival. Rules, names and order follow Google Analytics 4
 * for manual traffic (Analytics Help, "Default channel group", answer 9756891), case-insensitive:
 *
 *     Direct                      source is (direct), and medium is (none) or (not set)
 *     Cross-network               campaign contains cross-network
 *     Paid Shopping               source is a shop or campaign ~ ^(.*(([^a-df-z]|^)shop|shopping).*)$; and medium is paid
 *     Paid Search, Social, Video  source is a search, social or video site, and medium is paid
 *     Display                     medium is display, banner, expandable, interstitial or cpm
 *     Paid Other                  medium is paid: ~ ^(.*cp.*|ppc|retargeting|paid.*)$
 *     AI Assistants               source is an assistant, or medium is ai-assistant
 *     Organic Shopping            source is a shop, or campaign as above
 *     Organic Social              source is a social site, or medium is social, social-network, social-media, sm,
 *                                 social network or social media
 *     Organic Video               source is a video site, or medium contains video
 *     Organic Search              source is a search engine, or medium is organic
 *     Email                       source or medium is email, e-mail, e_mail or e mail
 *     Affiliates                  medium is affiliate
 *     Referral                    medium is referral, app or link
 *     Audio, SMS                  medium is audio; source or medium is sms
 *     Mobile Push Notifications   medium ends in push or contains mobile or notification, or source is firebase
 *
 * Where Google uses data that a URL does not hold, this is the nearest rule: without source, medium, referrer and click
 * id the source is (direct); without a medium the click id gives it, else a referrer makes it a referral; and mail
 * hosts, advertising and affiliate networks count as Email, Paid Other and Affiliates without a medium.
 */
export function channelOf(arrival: Arrival): Channel {
  const traffic = trafficOf(arrival);
  for (const [channel, fits] of RULES) if (fits(traffic)) return channel;
  return 'Unassigned';
}

function trafficOf({
  referrerType,
  hasReferrer,
  utmSource,
  utmMedium,
  utmCampaign,
  query,
}: Arrival): Traffic {
  const found = utmMedium === '' ? clickIn(query) : undefined;
  const click = found?.medium === '' && hasReferrer ? undefined : found;
  const isDirect = utmSource === '' && utmMedium === '' && !hasReferrer && click === undefined;
  const isReferral = hasReferrer && utmSource === '' && utmMedium === '';
  const source = utmSource.toLowerCase();
  return {
    type: referrerType === '' && utmSource === '' ? (click?.type ?? '') : referrerType,
    source: isDirect || source === 'direct' ? '(direct)' : source,
    medium: utmMedium.toLowerCase() || click?.medium || (isReferral ? 'referral' : ''),
    campaign: utmCampaign.toLowerCase(),
  };
}

/** The first click id in the query that has a value. */
function clickIn(query: string): Click | undefined {
  // Starts behind the `?` or a `&`; PAGE_LIMITS bounds the length of the query.
  let start = 1;
  while (start < query.length) {
    const next = query.indexOf('&', start);
    const end = next < 0 ? query.length : next;
    const equals = query.indexOf('=', start);
    if (equals > start && equals < end - 1) {
      const click = CLICKS.get(query.slice(start, equals).toLowerCase());
      if (click !== undefined) return click;
    }
    start = end + 1;
  }
  return undefined;
}

function isShopping({ type, campaign }: Traffic): boolean {
  return type === 'shopping' || SHOPPING.test(campaign);
}

function isPush({ source, medium }: Traffic): boolean {
  return (
    medium.endsWith('push') ||
    medium.includes('mobile') ||
    medium.includes('notification') ||
    source === 'firebase'
  );
}
