import { must } from '../../infra/assert.ts';
import { ROLLUP_DIMENSIONS, type SESSIONS_COLUMNS } from '../../processor/rows.ts';

type DimensionColumn = (typeof SESSIONS_COLUMNS)[number];

/** A property that groups sessions. `parent` is set where a value needs it to be understood: versions, regions. */
export interface Dimension {
  readonly column: DimensionColumn;
  readonly parent?: DimensionColumn;
}

/** Every dimension by its name in a path. Endpoints, schemas and documentation follow from this list. */
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
  language: { column: 'language' },
  timezone: { column: 'timezone' },
  screen: { column: 'screen' },
} as const satisfies Readonly<Record<string, Dimension>>;

export type DimensionName = keyof typeof DIMENSIONS;

export function isDimensionName(text: string): text is DimensionName {
  return Object.hasOwn(DIMENSIONS, text);
}

/** Every name of a dimension, in the order of the list. */
export const DIMENSION_NAMES: readonly DimensionName[] = Object.keys(DIMENSIONS).filter(isDimensionName);

/** The dimensions of each `traffic/` question; the first is the default. */
export const TRAFFIC_BREAKDOWNS = {
  referrers: ['referrer_name', 'referrer_type', 'referrer', 'utm_source', 'utm_medium', 'utm_campaign'],
  geo: ['country', 'region', 'city'],
  devices: [
    'device',
    'browser',
    'browser_version',
    'os',
    'os_version',
    'brand',
    'model',
    'language',
    'timezone',
    'screen',
  ],
} as const satisfies Readonly<Record<string, readonly [DimensionName, ...DimensionName[]]>>;

export function dimensionOf(name: DimensionName): Dimension {
  return DIMENSIONS[name];
}

/** The columns of a dimension for `$COLUMNS$`, as `prefix` and `name`. The text is ours. */
export function columnsText({ column, parent }: Dimension): string {
  return `${parent ?? "''"} AS prefix, ${column} AS name`;
}

/** The table of daily rollups by a dimension and its parent. */
export function rollupTableOf({ column, parent = column }: Dimension): string {
  const tables = Object.entries<readonly string[]>(ROLLUP_DIMENSIONS);
  const found = tables.find(([, columns]) => columns.includes(column) && columns.includes(parent));
  return must(found, `no rollups by ${column}`)[0];
}
