import { SCREEN_VIEW } from '../../ingest/event.ts';
import { durationMsOf, isBounce } from '../../processor/figures.ts';
import { byPageRank } from '../rank-order.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Span } from '../time/range.ts';
import { Grouping, type ItemsOf, Marks, Scratch } from './marks.ts';
import type { Bound, MemoryStatement } from './memory-statement.ts';
import { requestedGroups } from './ranked-answers.ts';
import type { SiteView } from './site-rows.ts';
import type { PairCodes } from './site-texts.ts';
import { eachSession, rowSpans, rowsInAll, spanOf, visitorOf } from './walk.ts';

// Shared, because one computation runs at a time.
const visitorMarks = new Marks();
const sessionMarks = new Marks();
const viewGroups = new Grouping();
const paidGroups = new Grouping();
const rowNumbers = new Scratch();
const pageNumbers = new Scratch();
const sessionCounts = new Scratch();
const pagePlaces = new Scratch();

type TitledPage = AnswerRow<'page-titles-rows'>;
type PagesRow = AnswerRow<'pages-rows'>;

/** `page-titles` */
export function pageTitles(view: SiteView, statement: MemoryStatement): TitledPage[] {
  return titlesIn(view, [spanOf(statement.bound)], statement);
}

/** `page-titles-rows` */
export function pageTitlesRows(view: SiteView, statement: MemoryStatement): TitledPage[] {
  return titlesIn(view, rowSpans(statement.bound), statement);
}

function titlesIn(view: SiteView, spans: readonly Span[], statement: MemoryStatement): TitledPage[] {
  const { pages } = view.texts;
  const isNamed = namedPages(view, statement.bound);
  const { viewsOf } = rowsByPage(view, spans, statement);
  const titled: TitledPage[] = [];
  for (let page = 0; page < pages.size; page += 1) {
    if (!isNamed(page)) continue;
    const { title, titledAt } = latestTitle(view, viewsOf(page));
    if (title !== '') titled.push({ ...namesOf(view, pages, page), titledAt, lastTitle: title });
  }
  return titled;
}

/** The origin and path of a page. */
function namesOf({ texts: { words } }: SiteView, pages: PairCodes, page: number) {
  return { origin: words.textOf(pages.firstOf(page)), path: words.textOf(pages.secondOf(page)) };
}

/** Tests for the requested pages. */
function namedPages(
  { texts: { pages, words } }: SiteView,
  { paths = [], every = 0 }: Bound,
): (page: number) => boolean {
  const wanted = new Set(paths.map((path) => words.find(path)));
  return (page) => every !== 0 || wanted.has(pages.secondOf(page));
}

/** `pages-rows` */
export function pagesRows(view: SiteView, statement: MemoryStatement): PagesRow[] {
  const { texts, hashes, events } = view;
  const isNamed = namedPages(view, statement.bound);
  const { viewsOf, paidOf } = rowsByPage(view, rowSpans(statement.bound), statement);
  const rows: PagesRow[] = [];
  let othersMax = -1;
  for (let page = 0; page < texts.pages.size; page += 1) {
    const [views, paid] = [viewsOf(page), paidOf(page)];
    if (views.length + paid.length === 0) continue;
    if (!isNamed(page)) {
      othersMax = Math.max(othersMax, sessionsIn(view, views), 0);
      continue;
    }
    const sessionHashes: number[] = [];
    const visitorHashes: number[] = [];
    sessionMarks.clear(view.sessions.length);
    visitorMarks.clear(texts.visitors.size);
    for (const row of views) {
      const slot = events.session[row] ?? 0;
      if (slot !== 0 && sessionMarks.isNew(slot)) sessionHashes.push(hashes.ofSession(slot));
      const visitor = visitorOf(view, row);
      if (visitor !== 0 && visitorMarks.isNew(visitor)) visitorHashes.push(hashes.ofVisitor(visitor));
    }
    const { title, titledAt: titleAt } = latestTitle(view, views);
    rows.push({
      isNamed: 1,
      ...namesOf(view, texts.pages, page),
      titleAt,
      title,
      pageviews: views.length,
      revenue: String(earnedIn(view, paid, statement.bound.currency ?? '')),
      sessionsMax: sessionHashes.length,
      sessionHashes,
      visitorHashes,
    });
  }
  // For the other pages, callers need only the highest session count.
  return othersMax === -1 ? rows : [...rows, { ...NO_VIEWS, isNamed: 0, sessionsMax: othersMax }];
}

const NO_VIEWS = {
  ...{ origin: '', path: '', title: '', titleAt: 0, pageviews: 0, revenue: '0' },
  ...{ sessionHashes: [], visitorHashes: [] },
};

/** `pages-entered` */
export function pagesEntered(view: SiteView, statement: MemoryStatement): AnswerRow<'pages-entered'>[] {
  const isNamed = namedPages(view, statement.bound);
  const pages: number[] = [];
  for (let page = 0; page < view.texts.pages.size; page += 1) if (isNamed(page)) pages.push(page);
  const entries = entriesOf(view, rowSpans(statement.bound), statement, pages);
  return pages.flatMap((page, place) => {
    const sums = entries[place] ?? NO_ENTRIES;
    return sums.entries === 0 ? [] : { ...namesOf(view, view.texts.pages, page), ...sums };
  });
}

/** `pages`: the requested rows, and the rows before them. */
export function pages(view: SiteView, statement: MemoryStatement): AnswerRow<'pages'>[] {
  const { texts } = view;
  const { viewsOf, paidOf } = rowsByPage(view, [spanOf(statement.bound)], statement);
  // Most pages are not requested: only their sessions are counted.
  const sessions = sessionCounts.take(texts.pages.size);
  for (let page = 0; page < sessions.length; page += 1) sessions[page] = sessionsIn(view, viewsOf(page));
  const requested = requestedGroups(sessions, statement.bound).filter((page) => viewsOf(page).length > 0);
  const entries = entriesOf(view, [spanOf(statement.bound)], statement, requested);
  const rows = requested.map((page, place) => {
    const views = viewsOf(page);
    return {
      ...namesOf(view, texts.pages, page),
      title: latestTitle(view, views).title,
      pageviews: views.length,
      visitors: visitorsIn(view, views),
      revenue: String(earnedIn(view, paidOf(page), statement.bound.currency ?? '')),
      sessions: sessions[page] ?? 0,
      ...(entries[place] ?? NO_ENTRIES),
    };
  });
  return rows.sort(byPageRank);
}

/** Sessions that fit and began on the page in the span. */
interface PageEntries {
  entries: number;
  bounces: number;
  durationMs: number;
}

const NO_ENTRIES: PageEntries = { entries: 0, bounces: 0, durationMs: 0 };

/** The entries of these pages, in their order. */
function entriesOf(
  view: SiteView,
  spans: readonly Span[],
  { fits }: MemoryStatement,
  pages: readonly number[],
): readonly PageEntries[] {
  const found = pages.map(() => ({ ...NO_ENTRIES }));
  const { entryPage, screenViews, startedAt, endedAt } = view.sessions;
  const placeOf = pagePlaces.take(view.texts.pages.size).fill(-1);
  for (const [place, page] of pages.entries()) placeOf[page] = place;
  const take = (slot: number) => {
    const sum = found[placeOf[entryPage[slot] ?? 0] ?? -1];
    if (sum === undefined || !fits(slot)) return;
    sum.entries += 1;
    if (isBounce(screenViews[slot] ?? 0)) sum.bounces += 1;
    sum.durationMs += durationMsOf(startedAt[slot] ?? 0, endedAt[slot] ?? 0);
  };
  for (const span of spans) eachSession(view, span, take);
  return found;
}

/** The number of sessions in a page's views; -1 without views. */
function sessionsIn({ events: { session }, sessions }: SiteView, views: Int32Array): number {
  if (views.length === 0) return -1;
  sessionMarks.clear(sessions.length);
  let count = 0;
  for (let place = 0; place < views.length; place += 1) {
    const slot = session[views[place] ?? 0] ?? 0;
    if (slot !== 0 && sessionMarks.isNew(slot)) count += 1;
  }
  return count;
}

/** By page, the rows of its views and of its paid events. Oldest first; valid until the next computation. */
interface PageRows {
  readonly viewsOf: ItemsOf;
  readonly paidOf: ItemsOf;
}

function rowsByPage(view: SiteView, spans: readonly Span[], { passes }: MemoryStatement): PageRows {
  const { name, amount, page } = view.events;
  const { words, pages } = view.texts;
  const screenView = words.find(SCREEN_VIEW) ?? -1;
  const rows = rowsInAll(view, spans);
  const views = rowNumbers.take(rows.length);
  const pageOfView = pageNumbers.take(rows.length);
  const paid: number[] = [];
  let length = 0;
  for (let place = 0; place < rows.length; place += 1) {
    const row = rows[place] ?? 0;
    const isView = name[row] === screenView;
    const isPaid = amount[row] !== 0;
    // Rows that count for no page are not tested: for some of them only the store can.
    if (!(isView || isPaid) || passes?.(row) === false) continue;
    if (isPaid) paid.push(row);
    if (!isView) continue;
    views[length] = row;
    pageOfView[length] = page[row] ?? 0;
    length += 1;
  }
  const pageOfPaid = Int32Array.from(paid, (row) => page[row] ?? 0);
  return {
    viewsOf: viewGroups.sort(views.subarray(0, length), pageOfView, pages.size),
    paidOf: paidGroups.sort(Int32Array.from(paid), pageOfPaid, pages.size),
  };
}

function visitorsIn(view: SiteView, views: Int32Array): number {
  visitorMarks.clear(view.texts.visitors.size);
  let count = 0;
  for (let place = 0; place < views.length; place += 1) {
    const visitor = visitorOf(view, views[place] ?? 0);
    if (visitor !== 0 && visitorMarks.isNew(visitor)) count += 1;
  }
  return count;
}

/** The sum of amounts in the question's currency. */
function earnedIn({ events: { amount, currency }, texts }: SiteView, paid: Int32Array, code: string): number {
  const wanted = texts.words.find(code) ?? -1;
  let earned = 0;
  for (const row of paid) if (currency[row] === wanted) earned += amount[row] ?? 0;
  return earned;
}

/** The title of the newest view with a title, and its time in seconds. Views are sorted by time. */
function latestTitle(
  { events, texts }: SiteView,
  views: Int32Array,
): { readonly title: string; readonly titledAt: number } {
  let found = -1;
  for (let place = views.length - 1; place >= 0; place -= 1) {
    const row = views[place] ?? 0;
    if (found !== -1 && events.at[row] !== events.at[found]) break;
    if (events.title[row] === 0) continue;
    // At equal times, the store takes the greatest id.
    if (found === -1 || events.isNewer(row, found)) found = row;
  }
  if (found === -1) return { title: '', titledAt: 0 };
  return {
    title: texts.words.textOf(events.title[found] ?? 0),
    titledAt: Math.floor((events.at[found] ?? 0) / 1000),
  };
}
