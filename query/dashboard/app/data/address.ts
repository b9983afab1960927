import { signal } from '@preact/signals';
import type { Operator } from '../../../filters/filter.ts';
import type { Interval } from '../../../time/buckets.ts';
import type { RangeName } from '../../../time/range.ts';

/**
 * The current view, in the form of the address behind `#`: `#/site/view?range=7d&f=country~is~DE`. So every state of the
 * dashboard can be linked to, and Back undoes a step. The part behind `#` never reaches a server, and works below every path of a
 * proxy.
 */
export interface Look {
  /** Empty before a site is chosen. */
  readonly site: string;
  readonly view: string;
  readonly period: Period;
  readonly compare: Compare;
  /** Undefined: as the service chooses. */
  readonly interval: Interval | undefined;
  readonly filters: readonly ChosenFilter[];
  /** The name of a saved set of filters, which hold besides. */
  readonly segment: string | undefined;
  /** Further state of a view, by name: the open tab of a card, the steps of a funnel. */
  readonly own: Readonly<Record<string, string>>;
}

/** A named range, or dates that are both included. */
export interface Period {
  readonly range: RangeName;
  readonly startDate?: string;
  readonly endDate?: string;
}

/** The comparison: the span before, the same dates of the year before, or nothing. */
export type Compare = 'previous' | 'year' | 'off';

/** A filter as it is chosen; values are texts, which the service reads as the field needs it. */
export interface ChosenFilter {
  readonly name: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** A look at all visitors. */
export const UNFILTERED = { filters: [], segment: undefined } as const;

export const FIRST_VIEW = 'overview';

const RANGES: Readonly<Record<RangeName, true>> = {
  '30min': true,
  lastHour: true,
  last24h: true,
  today: true,
  yesterday: true,
  '7d': true,
  '30d': true,
  '3m': true,
  '6m': true,
  '12m': true,
  monthToDate: true,
  lastMonth: true,
  yearToDate: true,
  lastYear: true,
  custom: true,
};
const INTERVALS: Readonly<Record<Interval, true>> = {
  minute: true,
  hour: true,
  day: true,
  week: true,
  month: true,
};
const OPERATORS: Readonly<Record<Operator, true>> = {
  is: true,
  isNot: true,
  contains: true,
  doesNotContain: true,
  startsWith: true,
  endsWith: true,
  regex: true,
  isNull: true,
  isNotNull: true,
  gt: true,
  gte: true,
  lt: true,
  lte: true,
};
const RESERVED = new Set(['range', 'startDate', 'endDate', 'compare', 'interval', 'f', 'segment']);
const DATE = /^\d{4}-\d{2}-\d{2}$/;
export const DEFAULT_PERIOD: Period = { range: '7d' };

/** A shared link; the address has its token instead of site and view. */
interface OpenedLink {
  readonly token: string;
  readonly site: string;
}

let openedLink: OpenedLink | undefined;
const SHARED_LINK = /^#\/shared\/([\w-]{40,})(?:\?|$)/;

/** The token of the shared link that an address is; undefined for any other address. */
export function sharedToken(hash: string): string | undefined {
  return SHARED_LINK.exec(hash)?.[1];
}

/**
 * Looks at the site of a shared link from now on. The token stays in the address, so that a reload and a bookmark open the link
 * again: it is no more secret than the link that was passed on.
 */
export function lookThrough(link: OpenedLink): void {
  openedLink = link;
  readAddress();
}

/** True if a look covers only some of the visitors. */
export function isFiltered({ filters, segment }: Look): boolean {
  return filters.length > 0 || segment !== undefined;
}

/** The present look. Changed by `go`, by links and by Back. */
export const look = signal<Look>(readLook(typeof location === 'undefined' ? '' : location.hash));

/** Follows the address from now on. */
export function followAddress(): void {
  addEventListener('hashchange', readAddress);
}

/** Reads the current address: the browser changes it some time before its event. */
export function readAddress(): void {
  look.value = readLook(location.hash);
}

/** Goes to a look that differs from the present one by `change`; with `replace`, Back does not come here. */
export function go(change: Partial<Look>, { replace = false } = {}): void {
  const next = { ...look.value, ...change };
  const hash = hashOf(next);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, '', hash);
  else history.pushState(null, '', hash);
  look.value = next;
}

/** Goes to a look with these values of the view's own; an undefined one is removed. */
export function goOwn(
  change: Readonly<Record<string, string | undefined>>,
  options: { readonly replace?: boolean } = {},
): void {
  const entries = Object.entries({ ...look.value.own, ...change }).flatMap(
    ([name, value]): [string, string][] => (value === undefined || value === '' ? [] : [[name, value]]),
  );
  go({ own: Object.fromEntries(entries) }, options);
}

/** Reads the part of an address from `#` on. Unknown parts are left out. */
export function readLook(hash: string): Look {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const parts = hash.startsWith('#/') ? path.split('/').map(decoded) : [];
  const isLink = openedLink !== undefined && sharedToken(hash) === openedLink.token;
  const [site = '', view = ''] = isLink ? [openedLink?.site] : parts;
  const pairs = query.split('&').flatMap((part): [string, string][] => {
    const at = part.indexOf('=');
    return at < 1 ? [] : [[decoded(part.slice(0, at)), part.slice(at + 1)]];
  });
  const given = new Map(pairs.map(([name, value]) => [name, decoded(value)]));
  const compare = given.get('compare');
  const interval = given.get('interval');
  return {
    site,
    view: view || FIRST_VIEW,
    period: periodIn(given),
    compare: compare === 'year' || compare === 'off' ? compare : 'previous',
    interval: isKey(INTERVALS, interval) ? interval : undefined,
    filters: pairs.flatMap(([name, value]) => (name === 'f' ? filterIn(value) : [])),
    segment: given.get('segment') || undefined,
    own: Object.fromEntries([...given].filter(([name]) => !RESERVED.has(name))),
  };
}

/** The address of a look, from `#` on. */
export function hashOf({ site, view, period, compare, interval, filters, segment, own }: Look): string {
  const pairs: string[] = [];
  const add = (name: string, value: string) => pairs.push(`${encodeURIComponent(name)}=${value}`);
  if (period.range === 'custom') {
    add('startDate', encodeURIComponent(period.startDate ?? ''));
    add('endDate', encodeURIComponent(period.endDate ?? ''));
  } else if (period.range !== DEFAULT_PERIOD.range) add('range', period.range);
  if (compare !== 'previous') add('compare', compare);
  if (interval !== undefined) add('interval', interval);
  for (const { name, operator, values } of filters)
    add('f', [name, operator, ...values].map(partOf).join('~'));
  if (segment !== undefined) add('segment', encodeURIComponent(segment));
  for (const [name, value] of Object.entries(own)) add(name, encodeURIComponent(value));
  const path =
    openedLink === undefined
      ? `#/${encodeURIComponent(site)}/${encodeURIComponent(view)}`
      : `#/shared/${openedLink.token}`;
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

function periodIn(given: ReadonlyMap<string, string>): Period {
  const [range, startDate = '', endDate = ''] = ['range', 'startDate', 'endDate'].map((name) =>
    given.get(name),
  );
  if (DATE.test(startDate) && DATE.test(endDate) && startDate <= endDate)
    return { range: 'custom', startDate, endDate };
  return isKey(RANGES, range) && range !== 'custom' ? { range } : DEFAULT_PERIOD;
}

function filterIn(text: string): ChosenFilter[] {
  const [name = '', operator, ...values] = text.split('~').map(decoded);
  return name !== '' && isKey(OPERATORS, operator) ? [{ name, operator, values }] : [];
}

function partOf(text: string): string {
  return encodeURIComponent(text).replaceAll('~', '%7E');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isKey<Key extends string>(
  table: Readonly<Record<Key, unknown>>,
  text: string | undefined,
): text is Key {
  return text !== undefined && Object.hasOwn(table, text);
}
