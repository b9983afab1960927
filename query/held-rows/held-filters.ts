import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { SESSION_FIELDS, type SessionField } from '../../processor/fields.ts';
import { durationMsOf, isBounce, TEXT_FORMS } from '../../processor/figures.ts';
import type { Filter, OrderComparison, Test } from '../filters/filter.ts';
import type { FactField } from '../filters/names.ts';
import type { EventColumns } from './event-columns.ts';
import { wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import type { TextCodes } from './site-texts.ts';

/** Tests the session of a slot with a state. */
export type SessionTest = (slot: number) => boolean;
export type RowTest = (row: number) => boolean;

/** Tests for rows in memory, divided like the conditions in `filters/insight-conditions.ts`. */
export interface HeldFilters {
  /** Tests a session; undefined when no filter is on sessions. */
  readonly session: SessionTest | undefined;
  /** A filter is on a fact of sessions, which events without a session never pass. */
  readonly hasFacts: boolean;
  /** Tests the row of an event; undefined when no filter is on events. */
  readonly event: RowTest | undefined;
}

/** The rows that tests read, and their call for a text that only the store can compare. */
interface Context {
  readonly view: SiteView;
  readonly onUnknown: () => void;
}

const ENTRY_COLUMNS: ReadonlySet<string> = new Set([...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS]);

/**
 * Tests for filters that memory evaluates like the store: source, environment and facts of sessions; name, page, title,
 * currency and profile of events. Undefined for other filters, for regular expressions and for numbers in texts: the
 * store has rules of its own for these. A test calls `onUnknown` for a text that only the store can compare.
 */
export function heldFiltersOf(
  filters: readonly Filter[],
  view: SiteView,
  onUnknown: () => void,
): HeldFilters | undefined {
  const context = { view, onUnknown };
  const ofSessions: SessionTest[] = [];
  const ofEvents: RowTest[] = [];
  let hasFacts = false;
  for (const filter of filters) {
    const ofSession = sessionTestOf(filter, context);
    const ofEvent = ofSession === undefined ? eventTestOf(filter, context) : undefined;
    if (ofSession !== undefined) ofSessions.push(ofSession);
    else if (ofEvent !== undefined) ofEvents.push(ofEvent);
    else return undefined;
    hasFacts ||= filter.field.kind === 'fact';
  }
  const session: SessionTest = (slot) => ofSessions.every((test) => test(slot));
  const event: RowTest = (row) => ofEvents.every((test) => test(row));
  return {
    session: ofSessions.length === 0 ? undefined : session,
    hasFacts,
    event: ofEvents.length === 0 ? undefined : event,
  };
}

function sessionTestOf({ field, test, negated }: Filter, context: Context): SessionTest | undefined {
  if (field.kind === 'fact') return factTestOf(field, test, negated, context);
  if (field.owner !== 'event' || field.kind !== 'text' || !ENTRY_COLUMNS.has(field.column)) return undefined;
  return wordTestOf(field.column, test, negated, context);
}

function factTestOf(
  { fact }: FactField,
  test: Test,
  negated: boolean,
  context: Context,
): SessionTest | undefined {
  const { column, form }: SessionField = SESSION_FIELDS[fact];
  if (column !== undefined) return wordTestOf(column, test, negated, context, form && TEXT_FORMS[form].of);
  const { screenViews, startedAt, endedAt } = context.view.sessions;
  if (fact === 'isBounce') {
    const fits = textTestOf(test, context);
    return fits && ((slot) => fits(isBounce(screenViews[slot] ?? 0) ? 'true' : 'false') !== negated);
  }
  const fits = numberTestOf(test);
  if (fits === undefined) return undefined;
  return fact === 'duration'
    ? (slot) => fits(durationMsOf(startedAt[slot] ?? 0, endedAt[slot] ?? 0) / 1000) !== negated
    : (slot) => fits(screenViews[slot] ?? 0) !== negated;
}

/** @param partOf the part of the column's text to test; all of it when absent */
function wordTestOf(
  column: string,
  test: Test,
  negated: boolean,
  context: Context,
  partOf: (whole: string) => string = (whole) => whole,
): SessionTest | undefined {
  const words = context.view.sessions.words[wordOf(column)];
  const fits = textTestOf(test, context);
  if (words === undefined || fits === undefined) return undefined;
  const fitsCode = byCode(context.view.texts.words, (whole) => fits(partOf(whole)));
  return (slot) => fitsCode(words[slot] ?? 0) !== negated;
}

/** Columns of events whose texts are in memory. */
const EVENT_TEXTS: Readonly<Record<string, 'visitors' | 'words'>> = {
  name: 'words',
  origin: 'words',
  path: 'words',
  title: 'words',
  currency: 'words',
  profileId: 'visitors',
};

function eventTestOf({ field, test, negated }: Filter, context: Context): RowTest | undefined {
  if (field.owner !== 'event' || field.kind !== 'text') return undefined;
  const dictionary = EVENT_TEXTS[field.column];
  const fits = textTestOf(test, context);
  if (dictionary === undefined || fits === undefined) return undefined;
  const { events, texts } = context.view;
  const fitsCode = byCode(texts[dictionary], fits);
  const codeOf = codesOf(field.column, events, texts.pages);
  return (row) => fitsCode(codeOf(row)) !== negated;
}

function codesOf(
  column: string,
  { name, title, currency, profile, page }: EventColumns,
  pages: SiteView['texts']['pages'],
): (row: number) => number {
  switch (column) {
    case 'origin':
      return (row) => pages.firstOf(page[row] ?? 0);
    case 'path':
      return (row) => pages.secondOf(page[row] ?? 0);
    default: {
      const codes = { name, title, currency, profileId: profile }[column];
      return (row) => codes?.[row] ?? 0;
    }
  }
}

const FITS = 1;
const FAILS = 2;

/** Tests each text of a dictionary once. */
function byCode(texts: TextCodes, fits: (text: string) => boolean): (code: number) => boolean {
  const known = new Uint8Array(texts.size);
  return (code) => {
    if (known[code] === 0) known[code] = fits(texts.textOf(code)) ? FITS : FAILS;
    return known[code] === FITS;
  };
}

function textTestOf(test: Test, { onUnknown }: Context): ((text: string) => boolean) | undefined {
  if (test.kind === 'present') return (text) => text !== '';
  if (test.kind === 'equal-text') {
    const values = new Set(test.values);
    return (text) => values.has(text);
  }
  if (test.kind !== 'part') return undefined;
  const { values } = test;
  switch (test.comparison) {
    case 'startsWith':
      return (text) => values.some((value) => text.startsWith(value));
    case 'endsWith':
      return (text) => values.some((value) => text.endsWith(value));
    case 'contains':
      return values.every(isAscii) ? containsTest(values, onUnknown) : undefined;
    case 'regex':
      return undefined;
  }
}

/** Only ASCII letters have the same upper and lower case everywhere. */
function containsTest(values: readonly string[], onUnknown: () => void): (text: string) => boolean {
  const folded = values.map((value) => value.toLowerCase());
  return (text) => {
    if (!isAscii(text)) onUnknown();
    const lower = text.toLowerCase();
    return folded.some((value) => lower.includes(value));
  };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

const ORDERS: Readonly<Record<OrderComparison, (value: number, bound: number) => boolean>> = {
  gt: (value, bound) => value > bound,
  gte: (value, bound) => value >= bound,
  lt: (value, bound) => value < bound,
  lte: (value, bound) => value <= bound,
};

function numberTestOf(test: Test): ((value: number) => boolean) | undefined {
  switch (test.kind) {
    case 'present':
      return () => true;
    case 'equal-number':
      return (value) => test.values.includes(value);
    case 'order':
      return (value) => ORDERS[test.comparison](value, test.bound);
    default:
      return undefined;
  }
}
