import { type JsonSchema, mapValues, withInner } from './json-schema.ts';

/**
 * What fields of bodies and answers below `/manage` mean, by name; one that means something else within another field is
 * named with that.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  projectId: 'The site; null only for a root client, which is for all sites of its team.',
  teamId: 'The team that it belongs to.',
  domain: 'Where the site is.',
  cors: 'Origins whose pages may send without a secret, such as `https://shop.example`, `*.shop.example` or `*`. Of a site that is made without, its domain.',
  timezone: 'What the site calls a day: a name such as `Europe/Berlin`.',
  currency: 'ISO 4217: that of amounts which name none, and of totals.',
  types: 'What the site is.',
  screenViews: 'Whether the browser script sends screen views by itself.',
  outgoingLinks: 'Whether it sends clicks on links that lead away.',
  attributes: 'Whether it sends clicks on elements with `data-track`.',
  hashChanges: 'Whether another hash of the address is another screen view.',
  sessionReplay: 'Whether visits are recorded for replay.',
  replaySampleRate: 'The share of visits that are, 0 to 1.',
  replayNeedsConsent: 'Whether a visitor has to agree first.',
  paymentProviders: 'Payment services whose return pages the script knows.',
  filters: 'What is not to be counted.',
  addresses: 'Addresses or CIDR ranges.',
  profileIds: 'Profiles by their ids.',
  names: 'Names of events.',
  paths: 'Paths; `*` stands for any text.',
  allowUnsafeRevenue: 'Whether pages may send revenue without a secret.',
  publicWidget: 'Whether everybody may see the live number.',
  feed: 'Whether its events, enriched, go to a stream of the bus as well, for programs that follow them; from now on, as long as it is on.',
  feedSubject:
    'The subject of the stream `feed` that such a program listens to; null while there is no feed.',
  retentionDays: 'Days that events are kept; null for ever.',
  deletion: 'Null for a site that may be used; else how far its purge has come.',
  status:
    'How far it is: `waiting` for its time; `purging` or `erasing`; `purged` or `done` when nothing is left.',
  profileDigest: 'Tells the person to whoever knows the id of the profile, and to nobody else.',
  requestedAt: 'When it was deleted.',
  purgeAt: 'When the purge may begin.',
  startedAt: 'When it began.',
  finishedAt: 'When it ended.',
  step: 'What is being done; empty when nothing is.',
  rowsRemoved: 'Rows removed so far, by table.',
  secret: 'Shown this once; what is kept is a hash.',
  type: '`write` sends; `read` also asks about its own site; `root` does everything for its team.',
  client: 'A first client of the site, to send with.',
  createdAt: 'In UTC.',
  updatedAt: 'Of the last change, in UTC.',
  date: "An ISO time, or a day, which begins with the site's midnight; one without a zone is the site's.",
  chartType: 'How it is drawn.',
  range: "A span of time by its name, as the site's clocks see it.",
  startDate: 'The first day of a custom range.',
  endDate: 'The last day of a custom range, included.',
  interval: 'The width of a bucket.',
  series: 'Which events are counted, and how. In formulas the first is A, the second B, and so on.',
  segment: 'What is counted of the events; those that begin with `property_` are about `property`.',
  property: 'A key of properties, `properties.<key>` or `revenue`, for the segments that are about one.',
  breakdowns: 'Fields by whose values each series is told apart.',
  formula: 'Arithmetic over the series, such as `A / B * 100`.',
  siteUrl:
    'The property in the search console: an address such as `https://shop.example/`, or `sc-domain:shop.example`.',
  auth: 'Whom the search console lets in.',
  'auth.type': 'A service account with its key, or a client of OAuth with a refresh token.',
  clientEmail: 'The e-mail address of the service account.',
  privateKey: 'The key of the service account, in PEM. Kept encrypted, never answered.',
  'auth.clientId': 'The id of the client of OAuth.',
  clientSecret: 'Kept encrypted, never answered.',
  refreshToken: 'Kept encrypted, never answered.',
  connected: 'Whether there is a connection whose secrets can be read.',
  authType: 'How it was connected.',
  account: 'The e-mail address of the service account, or the id of the client of OAuth.',
  state:
    '`unreadable`: there is a connection, but its secrets were encrypted with a key that is lost; connect it again.',
  lastImportAt: 'When the last rows came, in UTC; null without rows.',
  firstDate: 'The first day of which there are rows.',
  lastDate: 'The last day of which there are rows.',
  rows: 'Figures by day, query and page.',
  'data.rows': 'Rows that there are, each once.',
  'rows.date': 'The day, as the search console has it.',
  'rows.query': 'What was searched for; empty where that is not told.',
  'rows.page': 'The address that was shown.',
  'rows.country': 'Three letters such as `deu`. Where it is left out, the row is about all countries.',
  'rows.device': '`desktop`, `mobile` or `tablet`. Where it is left out, the row is about all devices.',
  'rows.clicks': 'Clicks that led to the page.',
  'rows.impressions': 'How often it was shown.',
  'rows.position': 'The average place in the results, of all impressions; the first is 1.',
  imported: 'Rows that were stored.',
  bucket: 'The name of the bucket.',
  prefix: 'Folders that every key begins with, without a slash at either end; empty for none.',
  region: 'The region of the bucket. A storage without regions takes any.',
  endpoint:
    'Where the storage is: `http://` or `https://`, a host and perhaps a port. Null for Amazon’s own of the region.',
  pathStyle:
    'Whether the name of the bucket stands in the path, rather than before the host; if not given, where there is an endpoint or the name has a dot.',
  accessKeyId: 'The id of the access key, which is no secret.',
  secretAccessKey: 'The secret of the access key. Kept encrypted, never answered.',
  format: 'What the files are: Parquet, or one JSON object a line, gzipped.',
  paused: 'Whether nothing more is begun.',
  message: 'The same for people; it names no secret.',
  since: 'When it failed first.',
  attempts: 'Tries since then.',
  nextTryAt: 'When it is tried again.',
  lagSeconds:
    'Seconds since `deliveredUntil`; null before the first time. An integration that keeps up is minutes behind at most.',
  deliveredUntil: 'Everything that was stored by then is in committed files; null before the first time.',
  committedAt: 'When the last manifest was committed; null before the first one.',
  sequence: 'The number of the last manifest, which is how many there are.',
  files: 'Files that manifests name.',
  bytes: 'Bytes of those files.',
  backfills:
    'Those that were asked for, in the order in which they are brought; done ones are forgotten in time.',
  daysDone: 'Days that were brought, or had been before.',
  daysTotal: 'Days that there are from the first to the last.',
  'series.name': 'The name of an event; `*` is every event.',
  'series.filters': 'Only events for which all of these hold.',
  'breakdowns.name': 'A field, as filters name them.',
  'filters.id': "The asker's own note; nobody reads it.",
  'filters.type': "The asker's own note; nobody reads it.",
  'filters.name':
    'A field of an event in snake or camel case, such as `path`, `utm_source` or `country`; `properties.<key>`, `profile.<field>`, `profile.properties.<key>`, `group.<field>`.',
  'filters.operator':
    '`isNot`, `doesNotContain` and `isNull` are the exact opposites of their positives. `contains` ignores case. `regex` is RE2. `gt` and its like compare decimal numbers and times.',
  'filters.value': 'Any of these has to fit; for opposites, none. Nothing for `isNull` and `isNotNull`.',
};

/** The schema with a meaning for each field below it that has none of its own; `within` is the field that it is. */
export function withMeanings(schema: JsonSchema, within = ''): JsonSchema {
  const { properties } = schema;
  if (properties === undefined) return withInner(schema, (inner) => withMeanings(inner, within));
  return {
    ...withInner({ ...schema, properties: {} }, (inner) => withMeanings(inner, within)),
    properties: mapValues(properties, (field, name) =>
      withMeanings(describedField(field, MEANINGS[`${within}.${name}`] ?? MEANINGS[name]), name),
    ),
  };
}

function describedField(field: JsonSchema, meaning: string | undefined): JsonSchema {
  const description = field.description ?? meaning;
  return description === undefined ? field : { ...field, description };
}
