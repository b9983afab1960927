import type { DeviceId, ProfileId } from '../../ingest/event.ts';
import {
  type ExportedWith,
  type ListedVisitColumn,
  VISIT_FIELD_LIST,
  type VisitText,
} from '../../processor/fields.ts';

/**
 * The rows that statements answer, by the name of the statement. Types of rows follow from this list, and
 * `answer-rows.clickhouse.test.ts` compares it with the columns that the store describes.
 */

/** By kind of column, its value in a row. */
interface Values {
  whole: number;
  decimal: number;
  text: string;
  profileId: ProfileId;
  deviceId: DeviceId;
  /** Decimal text, because a double may be too small. */
  big: string;
  /** By currency, minor units as decimal text. */
  amounts: Readonly<Record<string, string>>;
  texts: readonly string[];
  wholes: readonly number[];
  decimals: readonly number[];
  /** Null for none. */
  wholeOrNull: number | null;
  pairs: Readonly<Record<string, string>>;
  /** Address, clicks, impressions, and the positions of all impressions added up. */
  places: readonly (readonly [string, number, number, number])[];
}

/** By kind of column, its types in the store. */
export const STORE_TYPES: Readonly<Record<keyof Values, RegExp>> = {
  whole: /^U?Int(?:8|16|32|64)$/,
  decimal: /^(?:Float64|LowCardinality\(Float32\)|U?Int64)$/,
  text: /^(?:String|LowCardinality\(String\)|Date)$/,
  profileId: /^String$/,
  deviceId: /^String$/,
  big: /^String$/,
  amounts: /^Map\(String, String\)$/,
  texts: /^Array\((?:String|LowCardinality\(String\))\)$/,
  wholes: /^Array\(U?Int(?:8|16|32|64)\)$/,
  decimals: /^Array\((?:Float64|U?Int64)\)$/,
  wholeOrNull: /^Nullable\(U?Int64\)$/,
  pairs: /^Map\(String, String\)$/,
  places: /^Array\(Tuple\(String, Int64, Int64, Float64\)\)$/,
};

type ValueKind = keyof Values;
/** With a question mark: only some questions ask for the column. */
type ColumnKind = ValueKind | `${ValueKind}?`;
export type Columns = Readonly<Record<string, ColumnKind>>;

type OptionalIn<Of extends Columns> = {
  [Name in keyof Of]: Of[Name] extends `${ValueKind}?` ? Name : never;
}[keyof Of];
type ValueOf<Column> = Column extends `${infer Of extends ValueKind}?`
  ? Values[Of]
  : Column extends ValueKind
    ? Values[Column]
    : never;
type RowOf<Of extends Columns> = {
  readonly [Name in Exclude<keyof Of, OptionalIn<Of>>]: ValueOf<Of[Name]>;
} & { readonly [Name in OptionalIn<Of>]?: ValueOf<Of[Name]> };

/** A statement that answers rows. */
export type StatementName = keyof typeof ANSWER_ROWS;
/** A row of this statement; with several names, of one of them. */
export type AnswerRow<Name extends StatementName> = Name extends StatementName
  ? RowOf<(typeof ANSWER_ROWS)[Name]>
  : never;

/** Columns with their kinds as types, which a spread of plain literals would lose. */
function of<const Some extends Columns>(columns: Some): Some {
  return columns;
}

const SESSION_SUMS = { sessions: 'whole', bounces: 'whole', durationMs: 'whole' } as const;
const EVENT_SUMS = { screenViews: 'whole', revenue: 'amounts' } as const;
/** A bucket; with `isTotal`, a whole span. */
const OF_SPANS = { isCurrent: 'whole', isTotal: 'whole', edge: 'whole', visitors: 'whole' } as const;
const OF_ROLLUPS = { isTotal: 'whole', edge: 'whole', visitors: 'whole', hashes: 'text' } as const;
const OF_ROWS = { edge: 'whole', visitorHashes: 'wholes' } as const;

const RANKED = { prefix: 'text', name: 'text', pageviews: 'whole', revenue: 'big', ...SESSION_SUMS } as const;
const RANKED_WITH_VISITORS = { ...RANKED, visitors: 'whole' } as const;
const RANKED_VISITORS = { prefix: 'text', name: 'text', visitors: 'whole', found: 'wholes' } as const;
const CONVERSIONS = { conversions: 'whole', visitors: 'whole' } as const;
const NAMED_CONVERSIONS = { prefix: 'text', name: 'text', ...CONVERSIONS } as const;

const PAGE = { origin: 'text', path: 'text' } as const;
const PAGE_ENTRIES = { entries: 'whole', bounces: 'whole', durationMs: 'whole' } as const;
const PAGE_VIEWS = { ...PAGE, pageviews: 'whole', revenue: 'big' } as const;
const PAGE_FIGURES = { ...PAGE_VIEWS, sessions: 'whole', visitors: 'whole', ...PAGE_ENTRIES } as const;
const PAGE_HASHES = { sessionHashes: 'wholes', visitorHashes: 'wholes' } as const;
const TITLED = { title: 'text', titleAt: 'whole' } as const;
const PAGE_ROLLUPS = {
  ...PAGE_VIEWS,
  ...PAGE_ENTRIES,
  ...TITLED,
  ...of({ sessionsWithin: 'whole', reaching: 'whole', visitors: 'whole' }),
} as const;
const FOUND_ON_PAGE = { ...PAGE, isVisitor: 'whole', found: 'wholes' } as const;

const VISITS = { day: 'whole', daysUntilNext: 'whole', visitors: 'whole' } as const;
const VISITOR_DAYS = { visitor: 'whole', days: 'wholes' } as const;
const WORDS = { word: 'text', events: 'whole' } as const;
const SEARCH_SUMS = { clickCount: 'whole', impressionCount: 'whole', positionSum: 'decimal' } as const;
const PROFILE_EVENTS = {
  ...of({ firstSeenMs: 'whole', lastSeenMs: 'whole', screenViews: 'whole', otherEvents: 'whole' }),
  ...of({ quarters: 'wholes', revenue: 'amounts' }),
} as const;
const PERSON = {
  id: 'profileId',
  firstName: 'text',
  lastName: 'text',
  email: 'text',
  avatar: 'text',
} as const;

type EventTexts = { readonly [Text in VisitText]: Text extends ExportedWith<undefined> ? 'text' : 'text?' };
type ListedTexts = { readonly [Column in ListedVisitColumn]: 'text' };
const texts = VISIT_FIELD_LIST.filter(([, { isCoordinate = false }]) => !isCoordinate);
const EVENT_TEXTS = Object.fromEntries(
  texts.map(([column, { exportGroup }]) => [column, exportGroup === undefined ? 'text' : 'text?']),
) as EventTexts;
const LISTED_TEXTS = Object.fromEntries(
  texts.flatMap(([column, { isListed = true }]) => (isListed ? [[column, 'text']] : [])),
) as ListedTexts;

/** A row of a list of events. */
const EVENT = {
  ...EVENT_TEXTS,
  ...of({ id: 'text', name: 'text', deviceId: 'deviceId', profileId: 'profileId', sessionId: 'text' }),
  ...of({ createdAt: 'whole', receivedAt: 'whole', path: 'text', origin: 'text', title: 'text' }),
  ...of({
    groups: 'texts',
    revenue: 'big',
    currency: 'text',
    eventId: 'text?',
    query: 'text?',
    hash: 'text?',
  }),
  ...of({ properties: 'pairs?', longitude: 'decimal?', latitude: 'decimal?' }),
  ...of({ orderId: 'text?', sdkName: 'text?', sdkVersion: 'text?' }),
} as const;

const SESSION_MARK = { id: 'text', screenViews: 'whole', otherEvents: 'whole' } as const;
/** A row of a list of sessions. */
const SESSION = {
  ...LISTED_TEXTS,
  ...SESSION_MARK,
  ...of({ deviceId: 'deviceId', profileId: 'profileId', startedAt: 'whole', endedAt: 'whole' }),
  ...of({ entryOrigin: 'text', entryPath: 'text', exitOrigin: 'text', exitPath: 'text', revenue: 'amounts' }),
} as const;

export const ANSWER_ROWS = {
  'active-users': VISITS,
  'active-users-filtered': VISITS,
  'active-users-filtered-members': VISITOR_DAYS,
  'active-users-finalized': VISITS,
  'active-users-members': VISITOR_DAYS,
  'active-users-rollup': VISITS,
  breakdown: RANKED_WITH_VISITORS,
  'breakdown-rollup': RANKED_WITH_VISITORS,
  conversions: NAMED_CONVERSIONS,
  'crossing-sessions': { id: 'text', startedMs: 'whole' },
  engagement: { kind: 'text', number: 'whole', visitors: 'whole' },
  'entry-exit': RANKED_WITH_VISITORS,
  'event-list': EVENT,
  'event-list-pieces': { edge: 'whole', events: 'whole' },
  'event-names': WORDS,
  'event-names-rollup': WORDS,
  'event-total-rollup': { events: 'whole' },
  excluded: { reason: 'text', name: 'text', requests: 'whole' },
  'export-charts': {
    names: 'texts',
    whole: 'decimal',
    wholeBefore: 'decimal',
    edges: 'wholes',
    figures: 'decimals',
  },
  'export-extent': { firstMs: 'whole', lastMs: 'whole', rows: 'whole' },
  'export-profiles': {
    ...PERSON,
    ...of({ properties: 'pairs', groups: 'texts', createdAt: 'whole', updatedAt: 'whole' }),
  },
  funnel: {
    ...of({
      value: 'text',
      people: 'whole',
      events: 'whole',
      lengths: 'text',
      words: 'text',
      labels: 'text',
    }),
    ...of({ texts: 'texts', unsure: 'texts', unsureHours: 'wholes' }),
  },
  goals: { sessions: 'whole', conversions: 'wholes', visitors: 'wholes' },
  'group-events': { events: 'whole', screenViews: 'whole', activeMembers: 'whole', revenue: 'amounts' },
  'group-list': {
    ...of({ id: 'text', isOnlyAssigned: 'whole', type: 'text', name: 'text', properties: 'pairs' }),
    ...of({ createdMs: 'whole', updatedMs: 'whole', members: 'whole' }),
  },
  'group-members': PERSON,
  'group-members-total': { members: 'whole' },
  'group-sessions': { sessions: 'whole', members: 'wholeOrNull' },
  'group-types': { type: 'text', groups: 'whole' },
  journey: EVENT,
  'journey-sessions': {
    ...of({ id: 'text', startedMs: 'whole', endedMs: 'whole', isCredited: 'whole' }),
    ...of({ untilMs: 'whole', until: 'big' }),
  },
  'metrics-conversions': { ...OF_SPANS, conversions: 'whole' },
  'metrics-counted': { ...OF_ROLLUPS, ...EVENT_SUMS, ...SESSION_SUMS },
  'metrics-events': { ...OF_SPANS, ...EVENT_SUMS },
  'metrics-events-rollup': { ...OF_SPANS, ...EVENT_SUMS, ...SESSION_SUMS },
  'metrics-events-rows': { ...OF_ROWS, ...EVENT_SUMS },
  'metrics-filtered': { ...OF_SPANS, ...EVENT_SUMS, ...SESSION_SUMS },
  'metrics-filtered-visitors': { ...OF_ROWS, ...EVENT_SUMS, ...SESSION_SUMS },
  'metrics-finalized': { ...OF_ROLLUPS, ...EVENT_SUMS, ...SESSION_SUMS },
  'metrics-members': OF_ROWS,
  'metrics-sessions': { edge: 'whole', ...SESSION_SUMS },
  'metrics-sessions-rows': { edge: 'whole', ...SESSION_SUMS },
  'page-conversions': NAMED_CONVERSIONS,
  'page-titles': { ...PAGE, lastTitle: 'text' },
  'page-titles-finalized': { ...PAGE, lastTitle: 'text', titledAt: 'whole' },
  'page-titles-rows': { ...PAGE, lastTitle: 'text', titledAt: 'whole' },
  pages: { ...PAGE_FIGURES, title: 'text' },
  'pages-candidates': { path: 'text', bound: 'whole' },
  'pages-counted': { ...PAGE_ROLLUPS, sessionHashes: 'text?', visitorHashes: 'text?' },
  'pages-entered': { ...PAGE, ...PAGE_ENTRIES },
  'pages-filtered': PAGE_FIGURES,
  'pages-filtered-counted': { ...PAGE_VIEWS, sessions: 'whole', visitors: 'whole', ...PAGE_HASHES },
  'pages-filtered-members': FOUND_ON_PAGE,
  'pages-filtered-rows': { ...PAGE_VIEWS, ...PAGE_HASHES },
  'pages-finalized': { ...PAGE_ROLLUPS, isCached: 'whole', sessionHashes: 'text', visitorHashes: 'text' },
  'pages-members': FOUND_ON_PAGE,
  'pages-rollup': { ...PAGE_FIGURES, title: 'text', isNamed: 'whole', sessionsMax: 'whole' },
  'pages-rows': { ...PAGE_VIEWS, ...TITLED, ...PAGE_HASHES, isNamed: 'whole', sessionsMax: 'whole' },
  'profile-activity': {
    id: 'profileId',
    firstMs: 'whole',
    lastMs: 'whole',
    sessions: 'whole',
    revenue: 'amounts',
  },
  'profile-alone': PROFILE_EVENTS,
  'profile-candidates': { id: 'profileId', madeMs: 'big' },
  'profile-marks': { version: 'big', sign: 'whole', ...SESSION_MARK },
  'profile-metrics': {
    ...PROFILE_EVENTS,
    ...SESSION_SUMS,
    ...of({ p90Ms: 'whole', betweenMs: 'whole' }),
  },
  'profile-named': { named: 'whole' },
  'profile-places': { id: 'profileId', value: 'big' },
  'profile-sessions': SESSION,
  'profile-states': { version: 'big', sign: 'whole', ...SESSION },
  'property-keys': WORDS,
  'property-values': WORDS,
  'ranking-finalized': RANKED,
  'ranking-rollup': RANKED,
  'ranking-rows': { ...RANKED, visitorHashes: 'wholes' },
  'ranking-visitors': RANKED_VISITORS,
  'ranking-visitors-rollup': RANKED_VISITORS,
  'retention-cohort': { cohort: 'whole', size: 'whole', returned: 'wholes' },
  'rollup-days': { block: 'whole', starts: 'wholes' },
  'rollup-spans': {
    seconds: 'whole',
    block: 'whole',
    flushes: 'wholes',
    partition: 'whole',
    starts: 'wholes',
  },
  'search-console-cannibalization': {
    word: 'text',
    impressionCount: 'whole',
    clickCount: 'whole',
    total: 'whole',
    places: 'places',
  },
  'search-console-opportunities': { word: 'text', ...SEARCH_SUMS },
  'search-console-ranking': { word: 'text', ...SEARCH_SUMS },
  'search-console-series': { day: 'text', ...SEARCH_SUMS },
  'session-list': SESSION,
  'site-days': { day: 'whole', events: 'whole' },
  'user-flow': {
    ...of({ column: 'whole', fromValue: 'text', isFromOther: 'whole', isExit: 'whole', toValue: 'text' }),
    ...of({ isToOther: 'whole', sessions: 'whole' }),
  },
} as const satisfies Readonly<Record<string, Columns>>;
