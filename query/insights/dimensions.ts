import { must } from '../../infra/assert.ts';
import { type DimensionName, VISIT_FIELD_LIST, type VisitColumn } from '../../processor/fields.ts';
import { ROLLUP_DIMENSIONS } from '../../processor/rows.ts';

export type { DimensionName } from '../../processor/fields.ts';

/** A property that groups sessions. `parent` is set where a value needs it to be understood: versions, regions. */
export interface Dimension {
  readonly column: VisitColumn;
  readonly parent?: VisitColumn | undefined;
}

/** Every dimension by its name in a path. Endpoints, schemas and documentation follow from this list. */
const DIMENSIONS: ReadonlyMap<string, Dimension> = new Map(
  VISIT_FIELD_LIST.flatMap(([column, { dimension, parent }]) =>
    dimension === undefined ? [] : [[dimension, { column, parent }]],
  ),
);

export function isDimensionName(text: string): text is DimensionName {
  return DIMENSIONS.has(text);
}

/** Every name of a dimension, in the order of the list. */
export const DIMENSION_NAMES: readonly DimensionName[] = [...DIMENSIONS.keys()].filter(isDimensionName);

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
  return must(DIMENSIONS.get(name), `no dimension ${name}`);
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
