import { type JsonSchema, mapValues, withInner } from './json-schema.ts';

/**
 * Descriptions of the fields of bodies and responses below `/manage`, by name. A field that means something else inside
 * another field has an entry `parent.name`.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  projectId: 'The site. Null only for a root client, which covers all sites of its team.',
  email:
    'The e-mail address that the user signs in with. Unique among the users of the team, in upper or lower case.',
  role: '`root`: may manage, and read every site of the team. `read`: may read the given sites.',
  sites:
    'The sites that a user with the role `read` may read. Null for the role `root`, which covers all sites of the team.',
  teamId: 'The team that owns the record.',
  addresses:
    'IP addresses or CIDR ranges that the client may be used from; requests from elsewhere get 403. For read and root clients. Behind a proxy the address is the one that the proxy forwards for, if `TRUSTED_PROXIES` contains it. Null: from everywhere.',
  expiresAt:
    'Time from which the client is rejected with 401, in UTC; a request may give it in any time zone. Null: never.',
  scopes:
    'The areas that the client may use; a request for another area gets 403. A write client can have `track`, a read client also `insights` and `export`, a root client all of them. Null in a request: all that the type may use.',
  lastUsedAt:
    'Time of the last request that was accepted for the client, with its secret or from an allowed origin. Recorded about once a minute. Null: not used since times are recorded.',
  feedSubject: 'The subject of the stream to subscribe to. Null while `feed` is off.',
  deletion: 'The progress of the purge of a deleted site. Null for an active site.',
  status: '`waiting`: not started. `purging` or `erasing`: in progress. `purged` or `done`: completed.',
  profileDigest:
    'Identifies the erased profile without naming it: the SHA-256 of the receipt id, a line break and the profile id.',
  requestedAt: 'Time of the request, in UTC.',
  purgeAt: 'Earliest time of the purge, in UTC. The site can be restored until the purge begins.',
  restorable:
    'Whether the deletion can be undone: true until the purge begins, false after a deletion with `now=true`.',
  remainingSeconds:
    'Whole seconds until `purgeAt`, in which the deletion can be undone for certain. 0 if it cannot be undone, or once `purgeAt` has passed.',
  restored: 'The deletion that was undone, with the seconds that were left.',
  startedAt: 'Time at which the purge started, in UTC. Null before.',
  finishedAt: 'Time of completion, in UTC. Null before.',
  step: 'The current step of the purge. Empty when no step is running.',
  rowsRemoved: 'Number of rows removed so far, by table.',
  secret: 'The client secret. Returned only once; only a hash is stored.',
  type: '`write`: sends events. `read`: also queries its own site. `root`: does everything for its team.',
  client: 'The first client of the site, a write client.',
  createdAt: 'Time of creation, in UTC.',
  updatedAt: 'Time of the last change, in UTC.',
  date: 'An ISO 8601 time, or a day, which stands for its midnight. Without a zone, the time zone of the site applies.',
  chartType: 'How the chart is drawn.',
  range: 'A named period in the time zone of the site, or `custom`.',
  startDate: 'The first day of a custom range.',
  endDate: 'The last day of a custom range, included.',
  interval: 'The width of a bucket.',
  series: 'The events to count, and how. Formulas refer to them as A, B, C, … in order.',
  segment: 'What to count. Segments that start with `property_` need `property`.',
  property: 'The property to aggregate, for `property_` segments: `properties.<key>` or `revenue`.',
  breakdowns: 'Fields to break each series down by.',
  formula: 'Arithmetic over the series, such as `A / B * 100`.',
  siteUrl:
    'The Search Console property: a URL such as `https://shop.example/`, or a domain such as `sc-domain:shop.example`.',
  auth: 'The credentials for the Search Console.',
  'auth.type':
    '`service_account`: a service account with its key. `oauth`: an OAuth client with a refresh token.',
  clientEmail: 'The e-mail address of the service account.',
  privateKey: 'The private key of the service account, in PEM. Stored encrypted, never returned.',
  'auth.clientId': 'The OAuth client id.',
  clientSecret: 'The OAuth client secret. Stored encrypted, never returned.',
  refreshToken: 'The OAuth refresh token. Stored encrypted, never returned.',
  connected: 'Whether a connection exists and its secrets are readable.',
  authType: 'The type of the credentials. Null without a connection.',
  account: 'The e-mail address of the service account, or the OAuth client id. Null without a connection.',
  state:
    '`connected`, `not-connected`, or `unreadable`: the secrets were encrypted with a key that is lost. Connect the site again.',
  lastImportAt: 'Time of the last import, in UTC. Null without rows.',
  firstDate: 'The first day with rows. Null without rows.',
  lastDate: 'The last day with rows. Null without rows.',
  rows: 'Figures by day, query and page.',
  'data.rows': 'Number of distinct rows.',
  'rows.date':
    'The day, as reported by the Search Console (in Pacific time). From 2000-01-01 to tomorrow in UTC.',
  'rows.query': 'The search query. Empty when it is withheld.',
  'rows.page': 'The URL of the result.',
  'rows.country': 'Three-letter country code such as `deu`. Omit it for figures of all countries.',
  'rows.device': '`desktop`, `mobile` or `tablet`. Omit it for figures of all devices.',
  'rows.clicks': 'Number of clicks on the result, at most `impressions`.',
  'rows.impressions': 'Number of times the result was shown.',
  'rows.position': 'Average position in the results over all impressions, starting at 1.',
  imported: 'Number of rows stored.',
  bucket: 'The name of the bucket.',
  prefix: 'Folders that every object key starts with, without a slash at either end. Empty: none.',
  region: 'The region of the bucket. Any value works for storage without regions.',
  endpoint: 'The URL of the storage: scheme, host and optional port. Null: the AWS endpoint of the region.',
  pathStyle:
    'Whether the bucket name is in the path instead of the host name. Default: true with an endpoint or a dot in the name.',
  accessKeyId: 'The id of the access key.',
  secretAccessKey: 'The secret of the access key. Stored encrypted, never returned.',
  format: 'The file format: Parquet, or gzipped NDJSON.',
  paused: 'Whether delivery is paused.',
  message: 'The failure in plain English. Contains no secret.',
  since: 'Time of the first of the consecutive failures, in UTC.',
  attempts: 'Number of attempts since then.',
  nextTryAt: 'Time of the next attempt, in UTC.',
  lagSeconds:
    'Seconds since `deliveredUntil`. Null before the first delivery. A healthy integration stays within minutes.',
  deliveredUntil: 'Every event stored by this time is in committed files. Null before the first delivery.',
  committedAt: 'Time of the last committed manifest, in UTC. Null before the first.',
  sequence: 'The number of the last manifest, which equals the number of manifests.',
  files: 'Number of files in all manifests.',
  bytes: 'Total size of these files, in bytes.',
  backfills: 'Requested backfills in the order of delivery. The oldest completed ones are removed beyond 50.',
  daysDone: 'Number of days delivered, including days delivered before.',
  daysTotal: 'Number of days in the backfill.',
  'series.name': 'The name of an event, or `*` for every event.',
  'series.filters': 'Filters that apply to this series only.',
  'breakdowns.name': 'The name of a field, as in filters.',
  'filters.id': 'A note of the caller. Ignored.',
  'filters.type': 'A note of the caller. Ignored.',
  'filters.name':
    'An event field in snake or camel case, such as `path`, `utm_source` or `country`; or `properties.<key>`, `profile.<field>`, `profile.properties.<key>` or `group.<field>`; or a fact of the session: `entryPath`, `exitPath`, `isBounce` (`true` or `false`), `duration` (seconds) or `screenViews`. A fact is tested on the current state of the session: an event passes if its session does, and an event without a session passes no filter on facts, not even a negative one.',
  'filters.operator':
    '`isNot`, `doesNotContain` and `isNull` are the exact opposites of `is`, `contains` and `isNotNull`. `contains` ignores case. `regex` uses RE2 syntax. `gt`, `gte`, `lt` and `lte` compare decimal numbers and times.',
  'filters.value':
    'One of the values must match; for a negative operator, none may. Omit it for `isNull` and `isNotNull`.',
};

/**
 * Adds a description to each field below `schema` that has none. `within` is the name of the field that holds `schema`.
 */
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
