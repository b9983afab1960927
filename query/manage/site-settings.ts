import type { Site } from '../../infra/accounts/accounts.ts';

/**
 * CONTRACT of the manage API with its browsers: every setting of a site, once. Bodies, answers, their description and the form of
 * the dashboard follow from it; the audit log names a setting by its name here. A browser imports this file, so it holds only data.
 *
 * The record and the defaults are in infra/accounts/accounts.ts, which knows nothing of forms. The types make both agree.
 */

/** Decides how a request gives the value and how a form shows it: `project-api.ts` has a schema for each kind. */
export type SettingKind =
  | 'switch'
  | 'share'
  | 'name'
  | 'domain'
  | 'timezone'
  | 'currency'
  | 'siteTypes'
  | 'days'
  | 'eventRate'
  | 'origins'
  | 'providers'
  | 'addresses'
  | 'profileIds'
  | 'eventNames'
  | 'paths';

/** The parts of the form, in their order. A part without a title has no frame. */
export const FORM_SECTIONS = {
  site: undefined,
  script: 'What the script records',
  trust: 'What is trusted',
  public: 'What is public',
  excluded: 'What is not recorded',
  limits: undefined,
} as const;
export type FormSection = keyof typeof FORM_SECTIONS;

export interface SiteSetting {
  readonly kind: SettingKind;
  /** Its description in the API documentation. */
  readonly meaning: string;
  /** Absent: the form does not show it. */
  readonly field?: { readonly section: FormSection; readonly label: string; readonly hint?: string };
}

type SettingName =
  | Exclude<
      keyof Site,
      'id' | 'storedId' | 'teamId' | 'createdAt' | 'updatedAt' | 'deletion' | 'tracking' | 'filters'
    >
  | keyof Site['tracking'];

/** The settings, in the order of the form. */
export const SITE_SETTINGS = {
  name: { kind: 'name', meaning: 'The name of the site.', field: { section: 'site', label: 'Name' } },
  domain: {
    kind: 'domain',
    meaning: 'The domain of the site.',
    field: { section: 'site', label: 'Domain' },
  },
  timezone: {
    kind: 'timezone',
    meaning: 'The time zone that days and buckets follow, such as `Europe/Berlin`.',
    field: {
      section: 'site',
      label: 'Time zone',
      hint: 'Days, weeks and months of all figures are those of this zone, of the past as well.',
    },
  },
  currency: {
    kind: 'currency',
    meaning: 'ISO 4217 code. The currency of totals, and of amounts sent without one.',
    field: { section: 'site', label: 'Currency' },
  },
  cors: {
    kind: 'origins',
    meaning:
      'Origins whose pages may send events without a secret, such as `https://shop.example`, `*.shop.example` or `*`. Default for a new site: its domain. At most 1,000, with 65,536 characters together.',
    field: {
      section: 'site',
      label: 'Origins that browsers may send from',
      hint: 'One a line, such as https://example.com or *.example.com.',
    },
  },
  types: { kind: 'siteTypes', meaning: 'The kinds of site.' },
  screenViews: {
    kind: 'switch',
    meaning: 'Whether the browser script sends screen views automatically.',
    field: {
      section: 'script',
      label: 'Page views',
      hint: 'The script sends a view for every address that a page shows.',
    },
  },
  outgoingLinks: {
    kind: 'switch',
    meaning: 'Whether the browser script sends clicks on outgoing links.',
    field: { section: 'script', label: 'Clicks on links to other sites' },
  },
  attributes: {
    kind: 'switch',
    meaning: 'Whether the browser script sends clicks on elements with `data-track`.',
    field: { section: 'script', label: 'Clicks on elements with data-track' },
  },
  hashChanges: {
    kind: 'switch',
    meaning:
      'Whether a change of the URL hash is a new screen view, and the hash part of the page: then `/#/inbox` and `/#/settings` are two pages in every figure. An empty hash is none. A query in the hash counts as the query of the page, with its campaign. Applies to events that are received from then on, from every sender.',
    field: { section: 'script', label: 'Changes behind # count as views' },
  },
  sessionReplay: {
    kind: 'switch',
    meaning:
      'Whether the script of a page is to record sessions for replay. It is returned to the script; the service does not store recordings: a request of the type `replay` returns 202 with that reason, whatever the setting.',
  },
  replaySampleRate: {
    kind: 'share',
    meaning: 'The share of sessions that the script is to record, from 0 to 1.',
  },
  replayNeedsConsent: {
    kind: 'switch',
    meaning: 'Whether the script is to ask for the consent of the visitor before it records.',
  },
  paymentProviders: {
    kind: 'providers',
    meaning: 'Payment providers whose return pages the browser script recognizes.',
  },
  allowUnsafeRevenue: {
    kind: 'switch',
    meaning: 'Whether pages may send revenue without a secret.',
    field: {
      section: 'trust',
      label: 'Browsers may send revenue',
      hint: 'Anybody can send any amount then. Servers with a secret always may.',
    },
  },
  allowUnsafeAliases: {
    kind: 'switch',
    meaning:
      'Whether pages may send `alias` without a secret (401 otherwise). Any visitor may then let the events of any id count as those of another.',
    field: {
      section: 'trust',
      label: 'Browsers may join two ids of a person',
      hint: 'Anybody who knows an id can do it then.',
    },
  },
  allowUnsafeIdentify: {
    kind: 'switch',
    meaning:
      'Whether pages may change every profile and group without a secret. Otherwise a page may create them, and change those of its own device; see `identify`.',
    field: {
      section: 'trust',
      label: 'Browsers may describe a person',
      hint: 'Anybody who knows an id can do it then.',
    },
  },
  filterReferrerSpam: {
    kind: 'switch',
    meaning:
      'Whether events whose referrer is a known spam domain are left out, from every sender: they return 202 with the domain and are counted as excluded. Default: true. A page of the same host is none.',
    field: { section: 'trust', label: 'Drop known referrer spam' },
  },
  publicWidget: {
    kind: 'switch',
    meaning:
      'Whether everyone may see the live visitors: their number, the ten pages with most of them, and the last 30 minutes.',
    field: {
      section: 'public',
      label: 'Anybody may see the live number',
      hint: 'Needed by the widget on a page without a token.',
    },
  },
  feed: {
    kind: 'switch',
    meaning:
      'Whether enriched events are also published to a stream of the message bus. Covers events recorded while it is on.',
    field: {
      section: 'public',
      label: 'Event feed',
      hint: 'Every event is published on the bus, for programs that follow it.',
    },
  },
  retentionDays: {
    kind: 'days',
    meaning: 'Days that events are retained. Null: without limit.',
    field: { section: 'limits', label: 'Days for which events are kept', hint: 'Empty: without end.' },
  },
  eventsPerSecondMax: {
    kind: 'eventRate',
    meaning:
      'Events and updates that the site may send in a second, on average over ten seconds, from all senders together. What is beyond is rejected with 429 and counted as excluded. Null: without limit.',
    field: {
      section: 'limits',
      label: 'Most events a second',
      hint: 'Empty: no limit. Beyond it, senders are told to wait.',
    },
  },
} as const satisfies Readonly<Record<SettingName, SiteSetting>>;

/** The settings within `filters`: what is not recorded. */
export const SITE_FILTERS = {
  addresses: {
    kind: 'addresses',
    meaning: 'IP addresses or CIDR ranges to exclude.',
    field: { section: 'excluded', label: 'Addresses and ranges of addresses' },
  },
  profileIds: {
    kind: 'profileIds',
    meaning: 'Profile ids to exclude.',
    field: { section: 'excluded', label: 'Ids of people' },
  },
  names: {
    kind: 'eventNames',
    meaning: 'Event names to exclude.',
    field: { section: 'excluded', label: 'Names of events' },
  },
  paths: {
    kind: 'paths',
    meaning: 'Paths to exclude. `*` matches any text.',
    field: { section: 'excluded', label: 'Paths', hint: '* stands for any characters, as in /admin*.' },
  },
} as const satisfies Readonly<Record<keyof Site['filters'], SiteSetting>>;
