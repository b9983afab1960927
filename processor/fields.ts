import type { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../ingest/event.ts';

/**
 * CONTRACT: the fields that describe a visit: its source, place, device and locale. Each event has them as columns of the same name, and a
 * session has the ones of its entry event. Dimensions, filters of shared links, exports, lists of sessions, the documentation and the
 * dashboard follow from this table; programs in a browser read it, too, so it is only data.
 *
 * A field is added here, to `ingest/event.ts` (its bytes), to the tables (`schema/`, `ROLLUP_DIMENSIONS` in `rows.ts`), and to what finds
 * its value. Within its group it has the same place here and in an export.
 */

/** A column of an event and of a session that describes the visit. */
export type VisitColumn = (typeof SOURCE_COLUMNS)[number] | (typeof ENVIRONMENT_COLUMNS)[number];

export interface VisitField {
  /** The word for it in the dashboard. */
  readonly title: string;
  /** Its meaning in the documentation, with an example where the form is not obvious. Unknown texts are empty. */
  readonly meaning?: string;
  /** The name of the dimension that groups sessions by it, in paths and filters. Absent: there is none. */
  readonly dimension?: string;
  /** The column that makes its values clear: the country of a city, the browser of a version. */
  readonly parent?: VisitColumn;
  /** The `includes` of an export that add it. Absent: every exported event has it. */
  readonly exportGroup?: 'referrer' | 'geo' | 'device' | 'utm';
  /** True if filters of shared links may test it, because their figures show it. */
  readonly isShared?: true;
  /** False for what lists of sessions leave out. */
  readonly isListed?: false;
  /** True for a number of degrees; null where no place is known. All other fields are texts. */
  readonly isCoordinate?: true;
}

const REFERRER = { exportGroup: 'referrer', isShared: true } as const;
const GEO = { exportGroup: 'geo' } as const;
const COORDINATE = { ...GEO, meaning: 'Degrees.', isListed: false, isCoordinate: true } as const;
const DEVICE = { exportGroup: 'device' } as const;
const UTM = { exportGroup: 'utm', isShared: true } as const;

export const VISIT_FIELDS = {
  referrer: { ...REFERRER, title: 'Referrer', dimension: 'referrer' },
  referrerName: { ...REFERRER, title: 'Source', dimension: 'referrer_name' },
  referrerType: { ...REFERRER, title: 'Kind of source', dimension: 'referrer_type' },
  utmSource: { ...UTM, title: 'UTM source', dimension: 'utm_source' },
  utmMedium: { ...UTM, title: 'UTM medium', dimension: 'utm_medium' },
  utmCampaign: { ...UTM, title: 'UTM campaign', dimension: 'utm_campaign' },
  utmTerm: { ...UTM, title: 'UTM term', dimension: 'utm_term' },
  utmContent: { ...UTM, title: 'UTM content', dimension: 'utm_content' },
  channel: { ...UTM, title: 'Channel', dimension: 'channel' },
  country: { title: 'Country', meaning: 'ISO 3166-1, two letters.', dimension: 'country', isShared: true },
  region: { ...GEO, title: 'Region', dimension: 'region', parent: 'country', isShared: true },
  city: { title: 'City', dimension: 'city', parent: 'country', isShared: true },
  longitude: { ...COORDINATE, title: 'Longitude' },
  latitude: { ...COORDINATE, title: 'Latitude' },
  os: { title: 'System', dimension: 'os', isShared: true },
  browser: { title: 'Browser', dimension: 'browser', isShared: true },
  device: { title: 'Device', dimension: 'device', isShared: true },
  brand: { ...DEVICE, title: 'Brand', dimension: 'brand', isShared: true },
  model: { ...DEVICE, title: 'Model', dimension: 'model', parent: 'brand', isShared: true },
  browserVersion: {
    ...DEVICE,
    title: 'Browser version',
    dimension: 'browser_version',
    parent: 'browser',
    isShared: true,
    isListed: false,
  },
  osVersion: {
    ...DEVICE,
    title: 'System version',
    dimension: 'os_version',
    parent: 'os',
    isShared: true,
    isListed: false,
  },
  language: { ...DEVICE, title: 'Language', meaning: 'BCP 47, such as `de-DE`.', dimension: 'language' },
  timezone: {
    ...DEVICE,
    title: 'Time zone',
    meaning: 'An IANA name, such as `Europe/Berlin`.',
    dimension: 'timezone',
  },
  screen: {
    ...DEVICE,
    title: 'Screen',
    meaning: 'Width and height in CSS pixels, such as `1920x1080`.',
    dimension: 'screen',
  },
} as const satisfies Readonly<Record<VisitColumn, VisitField>>;

/** A fact of a session, as its current state has it. */
export interface SessionField {
  /** The word for it in the dashboard. */
  readonly title: string;
  /** Its values in the documentation, where the name does not say it. */
  readonly meaning?: string;
  /** `flag`: `true` or `false`; `number`: seconds or a count, computed from the state. */
  readonly kind: 'text' | 'flag' | 'number';
  /** The column with a text. */
  readonly column?: 'entryOrigin' | 'entryPath' | 'exitPath';
  /** The part of the column that is the text (`TEXT_FORMS` in `figures.ts`); the whole one when absent. */
  readonly form?: 'hostname';
  /** See `VisitField`. */
  readonly dimension?: string;
}

/** The facts of a session by their name in filters. Filters, dimensions, memory, documentation and dashboard follow from this table. */
export const SESSION_FIELDS = {
  entryPath: { title: 'Entry page', kind: 'text', column: 'entryPath' },
  exitPath: { title: 'Exit page', kind: 'text', column: 'exitPath' },
  entryHostname: {
    title: 'Host name',
    meaning: 'host name of the entry page',
    kind: 'text',
    column: 'entryOrigin',
    form: 'hostname',
    dimension: 'entry_hostname',
  },
  isBounce: { title: 'Bounced (true or false)', meaning: '`true` or `false`', kind: 'flag' },
  duration: { title: 'Seconds of a session', meaning: 'seconds', kind: 'number' },
  screenViews: { title: 'Views of a session', kind: 'number' },
} as const satisfies Readonly<Record<string, SessionField>>;

/** The name of a fact. */
export type SessionFact = keyof typeof SESSION_FIELDS;

/** The facts in the order of the table. */
export const SESSION_FIELD_LIST: readonly (readonly [fact: SessionFact, field: SessionField])[] =
  Object.entries(SESSION_FIELDS).map(([fact, field]) => [fact as SessionFact, field]);

type Fields = typeof VISIT_FIELDS;

/** The columns whose values are degrees. */
export type VisitCoordinate = {
  [Column in VisitColumn]: Fields[Column] extends { readonly isCoordinate: true } ? Column : never;
}[VisitColumn];

/** The columns whose values are texts. */
export type VisitText = Exclude<VisitColumn, VisitCoordinate>;

/** The columns of a group of an export; `undefined` for the ones that every exported event has. */
export type ExportedWith<Group> = {
  [Column in VisitText]: Fields[Column] extends { readonly exportGroup: infer Own }
    ? Own extends Group
      ? Column
      : never
    : undefined extends Group
      ? Column
      : never;
}[VisitText];

/** The columns that lists of sessions show. */
export type ListedVisitColumn = {
  [Column in VisitColumn]: Fields[Column] extends { readonly isListed: false } ? never : Column;
}[VisitColumn];

/** The name of a dimension. */
export type DimensionName = Extract<
  Fields[VisitColumn] | (typeof SESSION_FIELDS)[SessionFact],
  { readonly dimension: string }
>['dimension'];

/** The fields in the order of the table. */
export const VISIT_FIELD_LIST: readonly (readonly [column: VisitColumn, field: VisitField])[] =
  Object.entries(VISIT_FIELDS).map(([column, field]) => [column as VisitColumn, field]);
