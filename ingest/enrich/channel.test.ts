import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Arrival, CHANNELS, type Channel, channelOf } from './channel.ts';
import { REFERRER_TYPES } from './referrer-list.ts';

const NOWHERE: Arrival = {
  referrerType: '',
  hasReferrer: false,
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  query: '',
};

const referred = (referrerType: Arrival['referrerType'] = ''): Partial<Arrival> => ({
  referrerType,
  hasReferrer: true,
});
const campaign = (
  utmSource: string,
  utmMedium: string,
  referrerType: Arrival['referrerType'] = '',
  utmCampaign = '',
): Partial<Arrival> => ({ utmSource, utmMedium, referrerType, utmCampaign });

const cases: readonly (readonly [fact: string, arrival: Partial<Arrival>, channel: Channel])[] = [
  ['nothing at all', {}, 'Direct'],
  ['a query that is no click', { query: '?id=5&gclid' }, 'Direct'],
  ['a click without a number', { query: '?gclid=&x=1' }, 'Direct'],
  ['source direct, no medium', campaign('direct', ''), 'Direct'],
  ['source (direct), medium (none)', campaign('(direct)', '(none)'), 'Direct'],
  ['source (Direct), medium (not set)', campaign('(Direct)', '(not set)'), 'Direct'],
  ['source direct, medium email', campaign('direct', 'email'), 'Email'],
  ['only the name of a campaign', { utmCampaign: 'spring' }, 'Direct'],

  ['cross-network', campaign('google', 'cpc', 'search', 'Cross-Network'), 'Cross-network'],
  ['cross-network within a name', campaign('x', 'y', '', '2026 cross-network sale'), 'Cross-network'],
  ['cross-network before shopping', campaign('ebay', 'cpc', 'shopping', 'cross-network'), 'Cross-network'],

  ['a shop, cpc', campaign('ebay', 'cpc', 'shopping'), 'Paid Shopping'],
  ['a search for shopping, cpc', campaign('google', 'cpc', 'search', 'Shopping DE'), 'Paid Shopping'],
  ['a campaign eshop, paid', campaign('other', 'paid', '', 'eshop'), 'Paid Shopping'],
  ['a campaign that starts with shop, ppc', campaign('other', 'ppc', '', 'shop-now'), 'Paid Shopping'],
  ['a campaign workshop is no shop', campaign('google', 'cpc', 'search', 'workshop'), 'Paid Search'],

  ['a search engine, cpc', campaign('google', 'cpc', 'search'), 'Paid Search'],
  ['a search engine, CPC', campaign('Bing', 'CPC', 'search'), 'Paid Search'],
  ['a search engine, ppc', campaign('bing', 'ppc', 'search'), 'Paid Search'],
  ['a search engine, cpm, before display', campaign('google', 'cpm', 'search'), 'Paid Search'],
  ['a search engine, retargeting', campaign('google', 'retargeting', 'search'), 'Paid Search'],
  ['a search engine, paid-search', campaign('google', 'paid-search', 'search'), 'Paid Search'],
  ['a search engine as referrer, cpc', { ...referred('search'), utmMedium: 'cpc' }, 'Paid Search'],
  ['a gclid without anything else', { query: '?gclid=Cj0' }, 'Paid Search'],
  ['a gclid behind others', { query: '?a=1&b&gclid=Cj0&c=2' }, 'Paid Search'],
  ['a gclid of a search engine', { ...referred('search'), query: '?gclid=Cj0' }, 'Paid Search'],
  ['a wbraid', { query: '?wbraid=1' }, 'Paid Search'],
  ['an msclkid', { ...referred('search'), query: '?msclkid=1' }, 'Paid Search'],
  ['a gclid with a source', { ...campaign('google', '', 'search'), query: '?gclid=1' }, 'Paid Search'],
  [
    'a gclid with a medium',
    { ...campaign('google', 'organic', 'search'), query: '?gclid=1' },
    'Organic Search',
  ],

  ['a network, cpc', campaign('facebook', 'cpc', 'social'), 'Paid Social'],
  ['a network, paid_social', campaign('ig', 'paid_social', 'social'), 'Paid Social'],
  ['a network, cpm, before display', campaign('facebook', 'cpm', 'social'), 'Paid Social'],
  ['a ttclid', { query: '?ttclid=1' }, 'Paid Social'],
  ['a ScCid', { ...referred('social'), query: '?ScCid=1' }, 'Paid Social'],

  ['a video site, cpv', campaign('youtube', 'cpv', 'video'), 'Paid Video'],
  ['a video site, paid-video', campaign('youtube', 'paid-video', 'video'), 'Paid Video'],
  ['a video site with a gclid', { ...referred('video'), query: '?gclid=1' }, 'Paid Video'],

  ['display', campaign('partner', 'display'), 'Display'],
  ['banner', campaign('partner', 'Banner'), 'Display'],
  ['expandable', campaign('partner', 'expandable'), 'Display'],
  ['interstitial', campaign('partner', 'interstitial'), 'Display'],
  ['cpm before other paid', campaign('partner', 'cpm'), 'Display'],
  ['display of a search engine before its search', campaign('google', 'display', 'search'), 'Display'],
  ['a dclid', { query: '?dclid=1' }, 'Display'],

  ['cpc of an unknown source', campaign('partner', 'cpc'), 'Paid Other'],
  ['paid of an unknown source', campaign('partner', 'paid-something'), 'Paid Other'],
  ['unpaid is not paid', campaign('partner', 'unpaid'), 'Unassigned'],
  ['cpc of an assistant', campaign('chatgpt.com', 'cpc', 'ai'), 'Paid Other'],
  ['an advertising network', referred('paid'), 'Paid Other'],
  ['an advertising network, display', { ...referred('paid'), utmMedium: 'display' }, 'Display'],

  ['an assistant', referred('ai'), 'AI Assistants'],
  ['an assistant as a source', campaign('chatgpt.com', '', 'ai'), 'AI Assistants'],
  ['an assistant before its medium', campaign('chatgpt.com', 'referral', 'ai'), 'AI Assistants'],
  ['medium ai-assistant', campaign('other', 'ai-assistant'), 'AI Assistants'],

  ['a shop', referred('shopping'), 'Organic Shopping'],
  ['a campaign for shopping', campaign('letter', 'post', '', 'my-shop'), 'Organic Shopping'],
  ['a shop before its social medium', campaign('etsy', 'social', 'shopping'), 'Organic Shopping'],

  ['a network as referrer', referred('social'), 'Organic Social'],
  ['a network, email, before email', campaign('facebook', 'email', 'social'), 'Organic Social'],
  ['social', campaign('partner', 'social'), 'Organic Social'],
  ['social-network', campaign('partner', 'social-network'), 'Organic Social'],
  ['social media', campaign('partner', 'Social Media'), 'Organic Social'],
  ['sm', campaign('partner', 'sm'), 'Organic Social'],
  ['an fbclid without a referrer', { query: '?fbclid=1' }, 'Organic Social'],
  ['an fbclid copied into a page', { ...referred(), query: '?fbclid=1' }, 'Referral'],

  ['a video site', referred('video'), 'Organic Video'],
  ['medium video', campaign('partner', 'in-video-link'), 'Organic Video'],

  ['a search engine', referred('search'), 'Organic Search'],
  ['a search engine as a source', campaign('google', '', 'search'), 'Organic Search'],
  ['a search engine, email, before email', campaign('google', 'email', 'search'), 'Organic Search'],
  ['medium organic', campaign('partner', 'organic'), 'Organic Search'],

  ['medium email', campaign('june', 'email'), 'Email'],
  ['medium E-Mail', campaign('june', 'E-Mail'), 'Email'],
  ['medium e_mail', campaign('june', 'e_mail'), 'Email'],
  ['source e mail', campaign('e mail', ''), 'Email'],
  ['source email, affiliate, before affiliates', campaign('email', 'affiliate'), 'Email'],
  ['a mail host', referred('email'), 'Email'],
  ['a newsletter number', { query: '?mc_cid=1&mc_eid=2' }, 'Email'],

  ['medium affiliate', campaign('partner', 'affiliate'), 'Affiliates'],
  ['an affiliate network', referred('affiliate'), 'Affiliates'],

  ['an unknown page', referred(), 'Referral'],
  ['a news page', referred('news'), 'Referral'],
  ['a document', referred('work'), 'Referral'],
  ['medium referral', campaign('partner', 'referral'), 'Referral'],
  ['medium app', campaign('partner', 'app'), 'Referral'],
  ['medium link', campaign('partner', 'link'), 'Referral'],

  ['medium audio', campaign('podcast', 'audio'), 'Audio'],
  ['medium sms', campaign('partner', 'SMS'), 'SMS'],
  ['source sms', campaign('sms', ''), 'SMS'],
  ['medium web-push', campaign('partner', 'web-push'), 'Mobile Push Notifications'],
  ['medium mobile', campaign('partner', 'mobile app'), 'Mobile Push Notifications'],
  ['medium notification', campaign('partner', 'notifications'), 'Mobile Push Notifications'],
  ['source firebase', campaign('firebase', ''), 'Mobile Push Notifications'],

  ['an unknown source without medium', campaign('partner', ''), 'Unassigned'],
  ['an unknown medium', campaign('partner', 'print'), 'Unassigned'],
  ['an unknown medium with a referrer', { ...referred(), utmMedium: 'print' }, 'Unassigned'],
  ['an unknown source with a referrer', { ...campaign('partner', ''), hasReferrer: true }, 'Unassigned'],
];

test.each(cases)('%s', (_fact, arrival, channel) => {
  expect(channelOf({ ...NOWHERE, ...arrival })).toBe(channel);
});

test('every channel has a case', () => {
  const reached = new Set(cases.map(([, , channel]) => channel));
  expect(CHANNELS.filter((channel) => !reached.has(channel))).toEqual([]);
});

test('every arrival has one channel, the same one in upper case', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('google', 'email', 'cpc', 'Push', 'shop', 'direct'));
  fc.assert(
    fc.property(
      fc.record({
        referrerType: fc.constantFrom('', ...REFERRER_TYPES),
        hasReferrer: fc.boolean(),
        utmSource: text,
        utmMedium: text,
        utmCampaign: text,
        query: fc.oneof(
          fc.constant(''),
          fc.webQueryParameters().map((query) => `?${query}`),
        ),
      }),
      (arrival) => {
        const channel = channelOf(arrival);
        expect(CHANNELS).toContain(channel);
        // Letters such as ß, whose upper case is a different text, are unchanged.
        const ascii = (value: string) => value.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
        const upper = { utmSource: ascii(arrival.utmSource), utmMedium: ascii(arrival.utmMedium) };
        expect(channelOf({ ...arrival, ...upper, utmCampaign: ascii(arrival.utmCampaign) })).toBe(channel);
      },
    ),
  );
});
