import { must } from '../../infra/assert.ts';
import { ROLLUP_DIMENSIONS, type SESSIONS_COLUMNS } from '../../processor/rows.ts';

type Column = (typeof SESSIONS_COLUMNS)[number];

/** What sessions can be told apart by. `parent` is given where a value means little without it: versions, places. */
export interface Dimension {
  readonly column: Column;
  readonly parent?: Column;
}

/** Every dimension, by its name in a path: the column of a session that holds it. All else follows from this list. */
export const DIMENSIONS = {
  referrer: { column: 'referrer' },
  referrer_name: { column: 'referrerName' },
  referrer_type: { column: 'referrerType' },
  utm_source: { column: 'utmSource' },
  utm_medium: { column: 'utmMedium' },
  utm_campaign: { column: 'utmCampaign' },
  utm_term: { column: 'utmTerm' },
  utm_content: { column: 'utmContent' },
  channel: { column: 'channel' },
  country: { column: 'country' },
  region: { column: 'region', parent: 'country' },
  city: { column: 'city', parent: 'country' },
  device: { column: 'device' },
  brand: { column: 'brand' },
  model: { column: 'model', parent: 'brand' },
  browser: { column: 'browser' },
  browser_version: { column: 'browserVersion', parent: 'browser' },
  os: { column: 'os' },
  os_version: { column: 'osVersion', parent: 'os' },
} as const satisfies Readonly<Record<string, Dimension>>;

export type DimensionName = keyof typeof DIMENSIONS;

export function isDimensionName(text: string): text is DimensionName {
  return Object.hasOwn(DIMENSIONS, text);
}

/** Every name of a dimension, in the order of the list. */
export const DIMENSION_NAMES: readonly DimensionName[] = Object.keys(DIMENSIONS).filter(isDimensionName);

/** What each of the `traffic/` questions can be broken down by; the first is what it is without being told. */
export const TRAFFIC_BREAKDOWNS = {
  referrers: ['referrer_name', 'referrer_type', 'referrer', 'utm_source', 'utm_medium', 'utm_campaign'],
  geo: ['country', 'region', 'city'],
  devices: ['device', 'browser', 'browser_version', 'os', 'os_version', 'brand', 'model'],
} as const satisfies Readonly<Record<string, readonly [DimensionName, ...DimensionName[]]>>;

export function dimensionOf(name: DimensionName): Dimension {
  return DIMENSIONS[name];
}

/** The columns of a dimension as a statement names them, `prefix` and `name`. All of it is our own text. */
export function columnsText({ column, parent }: Dimension): string {
  return `${parent ?? "''"} AS prefix, ${column} AS name`;
}

/** The table with the sums of days by a dimension, and by what its values belong to. */
export function sumsOf({ column, parent = column }: Dimension): string {
  const tables = Object.entries<readonly string[]>(ROLLUP_DIMENSIONS);
  const found = tables.find(([, columns]) => columns.includes(column) && columns.includes(parent));
  return must(found, `no sums by ${column}`)[0];
}
