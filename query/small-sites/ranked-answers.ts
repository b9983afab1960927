import { SCREEN_VIEW } from '../../ingest/event.ts';
import type { MemoryStatement } from './memory-statement.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { byBytes, eachEvent, eachSession, visitorOf, visitorOfSession } from './walk.ts';

const WORD_FACTOR = 2 ** 26;

/** Sessions that have something in common. */
class SessionSums {
  readonly first: SessionState;
  sessions = 0;
  pageviews = 0;
  bounces = 0;
  durationMs = 0;
  earned = 0;
  readonly visitors = new Set<number>();

  constructor(first: SessionState) {
    this.first = first;
  }

  add(state: SessionState, currency: string): void {
    this.sessions += 1;
    this.pageviews += state.screenViews;
    if (state.screenViews <= 1) this.bounces += 1;
    this.durationMs += state.endedAt - state.startedAt;
    this.earned += state.revenue.get(currency) ?? 0;
    const visitor = visitorOfSession(state);
    if (visitor !== 0) this.visitors.add(visitor);
  }

  get row() {
    const { sessions, pageviews, bounces, durationMs } = this;
    return {
      sessions,
      pageviews,
      visitors: this.visitors.size,
      bounces,
      durationMs,
      revenue: String(this.earned),
    };
  }
}

/** The sessions that began in the span and fit, by two of their words; -1 is the empty word. */
function sessionsBy(
  view: SiteView,
  { bound, fits }: MemoryStatement,
  [outer, inner]: readonly [number, number],
): readonly SessionSums[] {
  const groups = new Map<number, SessionSums>();
  eachSession(view, { fromMs: bound.from, toMs: bound.to }, (state) => {
    if (!fits(state)) return;
    const key = (state.words[outer] ?? 0) * WORD_FACTOR + (state.words[inner] ?? 0);
    let sums = groups.get(key);
    if (sums === undefined) {
      sums = new SessionSums(state);
      groups.set(key, sums);
    }
    sums.add(state, bound.currency ?? '');
  });
  return [...groups.values()];
}

/** `breakdown.sql`, whose columns are `<parent or ''> AS prefix, <column> AS name`. */
export function breakdown(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const [, parent = '', column = ''] = /^(\w+|'') AS prefix, (\w+) AS name$/.exec(statement.columns) ?? [];
  const [outer, inner] = [wordOf(parent), wordOf(column)];
  if (inner === -1 || (outer === -1 && parent !== "''")) return undefined;
  const textOf = (state: SessionState, word: number) => view.texts.words.textOf(state.words[word] ?? 0);
  return sessionsBy(view, statement, [outer, inner])
    .map((sums) => ({ prefix: textOf(sums.first, outer), name: textOf(sums.first, inner), ...sums.row }))
    .sort((a, b) => b.sessions - a.sessions || byBytes(a.name, b.name) || byBytes(a.prefix, b.prefix));
}

/** The latest titles of pages that were seen, as rows of events by page. */
class Titles {
  readonly #rows = new Map<number, number>();
  readonly #view: SiteView;

  constructor(view: SiteView) {
    this.#view = view;
  }

  see(page: number, row: number): void {
    const { events } = this.#view;
    if (events.title[row] === 0) return;
    const known = this.#rows.get(page);
    if (known === undefined || events.isNewer(row, known)) this.#rows.set(page, row);
  }

  of(page: number): string {
    const { events, texts } = this.#view;
    const row = this.#rows.get(page);
    return row === undefined ? '' : texts.words.textOf(events.title[row] ?? 0);
  }
}

function pageOf({ events }: SiteView, row: number): number {
  return (events.origin[row] ?? 0) * WORD_FACTOR + (events.path[row] ?? 0);
}

interface SeenPage {
  readonly origin: string;
  readonly path: string;
  readonly sessions: number;
}

function byRank(a: SeenPage, b: SeenPage): number {
  return b.sessions - a.sessions || byBytes(a.path, b.path) || byBytes(a.origin, b.origin);
}

function namesOf({ texts }: SiteView, page: number) {
  const [origin, path] = [Math.floor(page / WORD_FACTOR), page % WORD_FACTOR];
  return { origin: texts.words.textOf(origin), path: texts.words.textOf(path) };
}

/** `entry-exit.sql`, whose columns are those of the entry or of the exit. */
export function entryExit(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const [, origin = '', path = ''] = /^(\w+) AS origin, (\w+) AS path$/.exec(statement.columns) ?? [];
  const [outer, inner] = [wordOf(origin), wordOf(path)];
  if (outer === -1 || inner === -1) return undefined;
  const { bound } = statement;
  const screenView = view.texts.words.find(SCREEN_VIEW) ?? -1;
  const titles = new Titles(view);
  eachEvent(view, { fromMs: bound.from, toMs: bound.to }, (row) => {
    if (view.events.name[row] === screenView) titles.see(pageOf(view, row), row);
  });
  return sessionsBy(view, statement, [outer, inner])
    .map((sums) => {
      const page = (sums.first.words[outer] ?? 0) * WORD_FACTOR + (sums.first.words[inner] ?? 0);
      return { ...namesOf(view, page), ...sums.row, title: titles.of(page) };
    })
    .sort(byRank);
}

class PageSums {
  pageviews = 0;
  earned = 0;
  readonly sessions = new Set<number>();
  readonly visitors = new Set<number>();
}

/** `pages.sql` */
export function pages(view: SiteView, statement: MemoryStatement): object[] {
  const { bound, passes } = statement;
  const { events, texts } = view;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const currency = texts.words.find(bound.currency ?? '') ?? -1;
  const titles = new Titles(view);
  const found = new Map<number, PageSums>();
  eachEvent(view, { fromMs: bound.from, toMs: bound.to }, (row) => {
    const isView = events.name[row] === screenView;
    const amount = events.amount[row] ?? 0;
    if ((!isView && amount === 0) || !passes(row)) return;
    const page = pageOf(view, row);
    let sums = found.get(page);
    if (sums === undefined) {
      sums = new PageSums();
      found.set(page, sums);
    }
    if (events.currency[row] === currency) sums.earned += amount;
    if (!isView) return;
    titles.see(page, row);
    sums.pageviews += 1;
    const session = events.session[row] ?? -1;
    if (session >= 0) sums.sessions.add(session);
    const visitor = visitorOf(view, row);
    if (visitor !== 0) sums.visitors.add(visitor);
  });
  const [outer, inner] = [wordOf('entryOrigin'), wordOf('entryPath')];
  const entered = new Map(
    sessionsBy(view, statement, [outer, inner]).map((sums) => [
      (sums.first.words[outer] ?? 0) * WORD_FACTOR + (sums.first.words[inner] ?? 0),
      sums,
    ]),
  );
  return [...found]
    .filter(([, { pageviews }]) => pageviews > 0)
    .map(([page, sums]) => {
      const began = entered.get(page);
      return {
        ...namesOf(view, page),
        title: titles.of(page),
        sessions: sums.sessions.size,
        pageviews: sums.pageviews,
        visitors: sums.visitors.size,
        revenue: String(sums.earned),
        entries: began?.sessions ?? 0,
        bounces: began?.bounces ?? 0,
        durationMs: began?.durationMs ?? 0,
      };
    })
    .sort(byRank);
}
