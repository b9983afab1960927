import { must } from '../../infra/assert.ts';
import {
  type DimensionName,
  SESSION_FIELD_LIST,
  type SessionFact,
  VISIT_FIELD_LIST,
  type VisitColumn,
} from '../../processor/fields.ts';
import { sessionText } from '../../processor/figures.ts';
import { ROLLUP_DIMENSIONS } from '../../processor/rows.ts';

export type { DimensionName } from '../../processor/fields.ts';

/** A property that groups sessions. `parent` is set where a value needs it to be understood: versions, regions. */
export interface Dimension {
  /** The name of its field. */
  readonly field: VisitColumn | SessionFact;
  /** Text of a statement over rows of sessions. */
  readonly column: string;
  readonly parent?: VisitColumn | undefined;
}

/** Every dimension by its name in a path. Endpoints, schemas and documentation follow from this list. */
const DIMENSIONS: ReadonlyMap<string, Dimension> = new Map<string, Dimension>([
  ...VISIT_FIELD_LIST.flatMap(([column, { dimension, parent }]) =>
    dimension === undefined ? [] : [[dimension, { field: column, column, parent } as const] as const],
  ),
  ...SESSION_FIELD_LIST.flatMap(([field, about]) =>
    about.dimension === undefined ? [] : [[about.dimension, { field, column: sessionText(about) }] as const],
  ),
]);

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

/** The table of daily rollups by a dimension and its parent; undefined for a field that follows from others. */
export function rollupTableOf({ column, parent }: Dimension): string | undefined {
  const tables = Object.entries<readonly string[]>(ROLLUP_DIMENSIONS);
  return tables.find(([, columns]) => columns.includes(column) && columns.includes(parent ?? column))?.[0];
}
