import type { ExportGroup } from '../../processor/event-export.ts';
import type { EVENTS_COLUMNS } from '../../processor/rows.ts';

type Column = (typeof EVENTS_COLUMNS)[number];

/** Read for every exported event; the last three cost next to nothing and are shown only when included. */
const ALWAYS: readonly Column[] = [
  'id',
  'name',
  'deviceId',
  'profileId',
  'sessionId',
  'createdAt',
  'path',
  'origin',
  'title',
  'country',
  'city',
  'os',
  'browser',
  'device',
  'groups',
  'receivedAt',
  'revenue',
  'currency',
];

/** What each of the `includes` reads besides. */
const BY_INCLUDE: Readonly<Record<ExportGroup, readonly Column[]>> = {
  profile: [],
  meta: ['eventId', 'query', 'hash'],
  properties: ['properties'],
  referrer: ['referrer', 'referrerName', 'referrerType'],
  geo: ['region', 'longitude', 'latitude'],
  device: ['brand', 'model', 'browserVersion', 'osVersion'],
  revenue: ['orderId'],
  utm: ['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent', 'channel'],
  sdk: ['sdkName', 'sdkVersion'],
};

/** The columns of a page with these `includes`, as a list for a statement. All of it is our own text. */
export function columnsText(includes: readonly ExportGroup[]): string {
  const columns = new Set([...ALWAYS, ...includes.flatMap((include) => BY_INCLUDE[include])]);
  return [...columns].join(', ');
}
