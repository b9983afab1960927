import { SCREEN_VIEW } from '../../ingest/event.ts';
import { byPageRank, byRank, type SeenPage } from '../rank-order.ts';
import { Grouping, type ItemsOf, Marks, Scratch } from './marks.ts';
import type { Bound, MemoryStatement } from './memory-statement.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { PairCodes } from './site-texts.ts';
import { eachSession, rowsIn, visitorOf, visitorOfSession } from './walk.ts';

// One computation runs at a time, so they share their marks and their memory.
const visitorMarks = new Marks();
const sessionMarks = new Marks();
const visitorGroups = new Grouping();
const pageGroups = new Grouping();
const visitorNumbers = new Scratch();
const groupNumbers = new Scratch();
const rowNumbers = new Scratch();
const pageNumbers = new Scratch();
const sessionCounts = new Scratch();

/** Sessions that have something in common. */
class SessionSums {
  sessions = 0;
  pageviews = 0;
  bounces = 0;
  durationMs = 0;
  earned = 0;

  add(state: SessionState, currency: string): void {
    this.sessions += 1;
    this.pageviews += state.screenViews;
    if (state.screenViews <= 1) this.bounces += 1;
    this.durationMs += state.endedAt - state.startedAt;
    this.earned += state.revenue.get(currency) ?? 0;
  }

  get row() {
    const { sessions, pageviews, bounces, durationMs } = this;
    return { sessions, pageviews, bounces, durationMs, revenue: String(this.earned) };
  }
}

/** The sessions that began in the span and fit, by two of their words. */
interface SessionGroups {
  /** The words of each group; -1 in place of a word is the empty one. */
  readonly words: PairCodes;
  readonly sums: readonly SessionSums[];
  /** The distinct visitors of a group. Valid until the next computation. */
  readonly visitorsIn: (group: number) => number;
}

function sessionsBy(
  view: SiteView,
  { bound, fits }: MemoryStatement,
  [outer, inner]: readonly [number, number],
): SessionGroups {
  const words = new PairCodes();
  const sums: SessionSums[] = [];
  const { length } = view.sessions.states;
  const visitors = visitorNumbers.take(length);
  const groupOf = groupNumbers.take(length);
  let sessions = 0;
  eachSession(view, { fromMs: bound.from, toMs: bound.to }, (state, slot) => {
    if (!fits(state, slot)) return;
    const group = words.codeOf(state.words[outer] ?? 0, state.words[inner] ?? 0);
    let sum = sums[group];
    if (sum === undefined) {
      sum = new SessionSums();
      sums.push(sum);
    }
    sum.add(state, bound.currency ?? '');
    visitors[sessions] = visitorOfSession(state);
    groupOf[sessions] = group;
    sessions += 1;
  });
  const visitorsOf = visitorGroups.sort(visitors.subarray(0, sessions), groupOf, sums.length);
  const visitorsIn = (group: number) => {
    visitorMarks.clear(view.texts.visitors.size);
    let count = 0;
    for (const visitor of visitorsOf(group)) if (visitor !== 0 && visitorMarks.isNew(visitor)) count += 1;
    return count;
  };
  return { words, sums, visitorsIn };
}

/** The groups with as many sessions as the last requested one, or more: the answer needs no other. In no order. */
function requestedGroups(sessions: Int32Array, { limit = 0, offset = 0 }: Bound): readonly number[] {
  const place = Math.max(offset + limit, 1);
  const sorted = sessions.slice().sort();
  const least = sorted[Math.max(0, sorted.length - place)] ?? 0;
  const groups: number[] = [];
  for (let group = 0; group < sessions.length; group += 1)
    if ((sessions[group] ?? 0) >= least) groups.push(group);
  return groups;
}

/** The requested rows of such groups, and those before. */
function rowsOfGroups<Names extends object>(
  { sums, visitorsIn }: SessionGroups,
  bound: Bound,
  namesOfGroup: (group: number) => Names,
) {
  const sessions = sessionCounts.take(sums.length);
  sums.forEach((sum, group) => {
    sessions[group] = sum.sessions;
  });
  return requestedGroups(sessions, bound).flatMap((group) => {
    const sum = sums[group];
    return sum === undefined ? [] : { ...namesOfGroup(group), ...sum.row, visitors: visitorsIn(group) };
  });
}

/** `breakdown.sql`, whose columns are `<parent or ''> AS prefix, <column> AS name`. */
export function breakdown(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const [, parent = '', column = ''] = /^(\w+|'') AS prefix, (\w+) AS name$/.exec(statement.columns) ?? [];
  const [outer, inner] = [wordOf(parent), wordOf(column)];
  if (inner === -1 || (outer === -1 && parent !== "''")) return undefined;
  const groups = sessionsBy(view, statement, [outer, inner]);
  const textOf = (word: number) => view.texts.words.textOf(word);
  const rows = rowsOfGroups(groups, statement.bound, (group) => ({
    prefix: textOf(groups.words.firstOf(group)),
    name: textOf(groups.words.secondOf(group)),
  }));
  return rows.sort(byRank);
}

function namesOf({ texts: { words } }: SiteView, pages: PairCodes, page: number) {
  return { origin: words.textOf(pages.firstOf(page)), path: words.textOf(pages.secondOf(page)) };
}

/** `entry-exit.sql`, whose columns are those of the entry or of the exit. */
export function entryExit(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const [, origin = '', path = ''] = /^(\w+) AS origin, (\w+) AS path$/.exec(statement.columns) ?? [];
  const [outer, inner] = [wordOf(origin), wordOf(path)];
  if (outer === -1 || inner === -1) return undefined;
  const groups = sessionsBy(view, statement, [outer, inner]);
  const rows = rowsOfGroups(groups, statement.bound, (group) => namesOf(view, groups.words, group));
  return rows.sort(byPageRank);
}

/** `page-titles.sql` */
export function pageTitles(view: SiteView, statement: MemoryStatement): object[] {
  const { pages, words } = view.texts;
  const paths = new Set((statement.bound.paths ?? []).map((path) => words.find(path)));
  const rowsOf = rowsByPage(view, statement);
  const titled: object[] = [];
  for (let page = 0; page < pages.size; page += 1) {
    if (!paths.has(pages.secondOf(page))) continue;
    const lastTitle = latestTitle(view, rowsOf(page));
    if (lastTitle !== '') titled.push({ ...namesOf(view, pages, page), lastTitle });
  }
  return titled;
}

/** `pages.sql`: the requested rows, and those before. */
export function pages(view: SiteView, statement: MemoryStatement): object[] {
  const { texts } = view;
  const entered = sessionsBy(view, statement, [wordOf('entryOrigin'), wordOf('entryPath')]);
  const rowsOf = rowsByPage(view, statement);
  // Most pages are not requested: they only need their sessions.
  const sessions = sessionCounts.take(texts.pages.size);
  for (let page = 0; page < sessions.length; page += 1) sessions[page] = sessionsIn(view, rowsOf(page));
  const rows: SeenPage[] = [];
  for (const page of requestedGroups(sessions, statement.bound)) {
    const seen = viewsOf(view, rowsOf(page), statement.bound.currency ?? '');
    if (seen === undefined) continue;
    const group = entered.words.find(texts.pages.firstOf(page), texts.pages.secondOf(page));
    const began = group === undefined ? undefined : entered.sums[group];
    const row = {
      ...namesOf(view, texts.pages, page),
      ...seen,
      sessions: sessions[page] ?? 0,
      entries: began?.sessions ?? 0,
      bounces: began?.bounces ?? 0,
      durationMs: began?.durationMs ?? 0,
    };
    rows.push(row);
  }
  return rows.sort(byPageRank);
}

/** The sessions that viewed a page; -1 for a page without views. */
function sessionsIn({ events, sessions, texts }: SiteView, rows: Int32Array): number {
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  sessionMarks.clear(sessions.states.length);
  let count = -1;
  for (const row of rows) {
    if (events.name[row] !== screenView) continue;
    if (count === -1) count = 0;
    const session = events.session[row] ?? 0;
    if (session !== 0 && sessionMarks.isNew(session)) count += 1;
  }
  return count;
}

/** The rows of views and payments by page, oldest first. */
function rowsByPage(view: SiteView, { bound, passes }: MemoryStatement): ItemsOf {
  const { events, texts } = view;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const rows = rowsIn(view, { fromMs: bound.from, toMs: bound.to });
  const counted = rowNumbers.take(rows.length);
  const pageOfRow = pageNumbers.take(rows.length);
  let length = 0;
  for (const row of rows) {
    if ((events.name[row] !== screenView && events.amount[row] === 0) || !passes(row)) continue;
    counted[length] = row;
    pageOfRow[length] = events.page[row] ?? 0;
    length += 1;
  }
  return pageGroups.sort(counted.subarray(0, length), pageOfRow, texts.pages.size);
}

/** The figures of a page by its rows, without its sessions; undefined for one without views. */
function viewsOf(view: SiteView, rows: Int32Array, currency: string) {
  if (rows.length === 0) return undefined;
  const { events, texts } = view;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const earnedIn = texts.words.find(currency) ?? -1;
  let [pageviews, visitors, earned] = [0, 0, 0];
  visitorMarks.clear(texts.visitors.size);
  for (const row of rows) {
    const amount = events.amount[row] ?? 0;
    if (amount !== 0 && events.currency[row] === earnedIn) earned += amount;
    if (events.name[row] !== screenView) continue;
    pageviews += 1;
    const visitor = visitorOf(view, row);
    if (visitor !== 0 && visitorMarks.isNew(visitor)) visitors += 1;
  }
  if (pageviews === 0) return undefined;
  return {
    title: latestTitle(view, rows),
    pageviews,
    visitors,
    revenue: String(earned),
  };
}

/** The title of the newest view that has one; rows are by time. */
function latestTitle({ events, texts }: SiteView, rows: Int32Array): string {
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  let found = -1;
  for (let place = rows.length - 1; place >= 0; place -= 1) {
    const row = rows[place] ?? 0;
    if (found !== -1 && events.at[row] !== events.at[found]) break;
    if (events.name[row] !== screenView || events.title[row] === 0) continue;
    // Where several have the same time, the store takes the one with the greatest id.
    if (found === -1 || events.isNewer(row, found)) found = row;
  }
  return found === -1 ? '' : texts.words.textOf(events.title[found] ?? 0);
}
