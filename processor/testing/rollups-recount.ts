import { type RollupUnit, startOfUnit } from '../rollups/units.ts';
import { NAMES_ROLLUP, ROLLUP_DIMENSIONS } from '../rows.ts';
import type { StoredRow } from './stored-rows.ts';
import { currentSessions } from './stored-state.ts';

/** A rollup row as a test compares it: keys and figures, with names instead of hashes. */
export type PlainRollup = Readonly<Record<string, unknown>>;

/** Rollup rows by table. */
export type RollupsByTable = Readonly<Record<string, readonly PlainRollup[]>>;

const NO_SESSION = '0'.repeat(32);
const DAILY_TABLES = Object.entries(ROLLUP_DIMENSIONS);

/**
 * The expected rollups of hours or of days for these rows, recounted one by one. Shares only the lists of columns with the statements.
 * `start` is in milliseconds; amounts are texts, and zero amounts are left out.
 */
export function recountRollups(
  unit: RollupUnit,
  rows: { readonly events: readonly StoredRow[]; readonly sessions: readonly StoredRow[] },
): RollupsByTable {
  const spans = new Map(
    currentSessions(rows.sessions).map(({ id, startedAt, endedAt }) => [
      String(id),
      [startedAt, endedAt].map(Number),
    ]),
  );
  const profiles = new Map(
    currentSessions(rows.sessions).map(({ id, profileId }) => [String(id), String(profileId)]),
  );
  const reachesBeyond = (id: string) => {
    const [start = 0, end] = (spans.get(id) ?? []).map((atMs) => startOfUnit(unit, atMs));
    return start !== end;
  };
  const totals = new Groups();
  const pages = new Groups();
  const groups = DAILY_TABLES.map(([table, columns]) => ({ table, columns, found: new Groups() }));
  for (const { values } of rows.events) {
    if (values.name === 'session_start' || values.name === 'session_end') continue;
    const { origin, path } = values;
    const common = { projectId: values.projectId, start: startOfUnit(unit, Number(values.createdAt)) };
    const isView = values.name === 'screen_view';
    const total = totals.at(common);
    const profileId = profiles.get(String(values.sessionId)) || values.profileId;
    const visitor = { profileId, deviceId: values.deviceId };
    addVisitor(total, visitor);
    addAmount(total, values.currency, values.revenue);
    if (isView) total.screenViews += 1;
    if (!isView && values.revenue === 0n) continue;
    const page = pages.at({ ...common, origin, path });
    addAmount(page, values.currency, values.revenue);
    if (!isView) continue;
    page.screenViews += 1;
    addVisitor(page, visitor);
    const id = String(values.sessionId);
    if (id !== NO_SESSION) (reachesBeyond(id) ? page.sessions : page.sessionsWithin).add(id);
    const shownAt = `${String(values.createdAt).padStart(20, '0')} ${values.id}`;
    if (values.title !== '' && shownAt > page.titleShownAt) {
      page.title = String(values.title);
      page.titleShownAt = shownAt;
    }
  }
  for (const session of currentSessions(rows.sessions)) {
    const startedMs = Number(session.startedAt);
    const common = { projectId: session.projectId, start: startOfUnit(unit, startedMs) };
    const page = { ...common, origin: session.entryOrigin, path: session.entryPath };
    const ofDimensions = groups.map(({ columns, found }) =>
      found.at({ ...common, ...Object.fromEntries(columns.map((column) => [column, session[column]])) }),
    );
    for (const found of [totals.at(common), pages.at(page), ...ofDimensions]) {
      found.begun += 1;
      if (Number(session.screenViews) <= 1) found.bounced += 1;
      found.lastedMs += Number(session.endedAt) - startedMs;
    }
    for (const found of ofDimensions) {
      found.viewed += Number(session.screenViews);
      addVisitor(found, session);
      for (const [currency, amount] of session.revenue as [string, bigint][])
        addAmount(found, currency, amount);
    }
  }
  const figures = ['begun', 'bounced', 'lastedMs', 'revenue', 'visitors'] as const;
  const ofPages = pages.rows(['title', 'screenViews', 'sessionsWithin', 'sessions', ...figures]);
  if (unit === 'hour')
    return { hourly_totals: totals.rows(['screenViews', ...figures]), hourly_pages: ofPages };
  const daily = groups.map(({ table, found }) => [table, found.rows(['viewed', ...figures])] as const);
  return {
    daily_pages: ofPages,
    ...Object.fromEntries(daily),
    [NAMES_ROLLUP]: recountNames(rows.events),
  };
}

/** Number of events by site, day and name. */
function recountNames(events: readonly StoredRow[]): readonly PlainRollup[] {
  const counts = new Map<string, number>();
  for (const { values } of events) {
    const { projectId, name } = values;
    const key = JSON.stringify({ projectId, start: startOfUnit('day', Number(values.createdAt)), name });
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return inOrder([...counts].map(([key, count]) => ({ ...JSON.parse(key), events: count })));
}

interface RollupCounts {
  screenViews: number;
  begun: number;
  viewed: number;
  bounced: number;
  lastedMs: number;
  title: string;
  titleShownAt: string;
  readonly revenue: Map<string, bigint>;
  readonly visitors: Set<string>;
  /** Sessions that lie completely in the hour or day, and the others. */
  readonly sessionsWithin: Set<string>;
  readonly sessions: Set<string>;
}

class Groups {
  readonly #groups = new Map<string, { readonly key: PlainRollup; readonly counts: RollupCounts }>();

  at(key: PlainRollup): RollupCounts {
    const text = JSON.stringify(key);
    const found = this.#groups.get(text) ?? { key, counts: nothing() };
    this.#groups.set(text, found);
    return found.counts;
  }

  rows(figures: readonly (keyof RollupCounts)[]): readonly PlainRollup[] {
    return inOrder(
      [...this.#groups.values()]
        .filter(({ counts }) => saysSomething(counts))
        .map(({ key, counts }) => ({
          ...key,
          ...Object.fromEntries(figures.map((figure) => [figure, figureOf(counts, figure)])),
        })),
    );
  }
}

function nothing(): RollupCounts {
  return {
    screenViews: 0,
    begun: 0,
    viewed: 0,
    bounced: 0,
    lastedMs: 0,
    title: '',
    titleShownAt: '',
    revenue: new Map(),
    visitors: new Set(),
    sessionsWithin: new Set(),
    sessions: new Set(),
  };
}

/** A session may have changed its values, and amounts may add up to nothing. */
function saysSomething({ screenViews, begun, revenue, visitors }: RollupCounts): boolean {
  return screenViews + begun + visitors.size > 0 || [...revenue.values()].some((amount) => amount !== 0n);
}

function figureOf(counts: RollupCounts, figure: keyof RollupCounts): unknown {
  return figure === 'sessionsWithin' ? counts.sessionsWithin.size : plain(counts[figure]);
}

function plain(figure: RollupCounts[keyof RollupCounts]): unknown {
  if (figure instanceof Set) return [...figure].sort();
  if (!(figure instanceof Map)) return figure;
  const amounts = [...figure].filter(([, amount]) => amount !== 0n).sort();
  return Object.fromEntries(amounts.map(([currency, amount]) => [currency, String(amount)]));
}

function addVisitor({ visitors }: RollupCounts, { profileId, deviceId }: PlainRollup): void {
  if (profileId !== '' || deviceId !== '') visitors.add(String(profileId) || String(deviceId));
}

function addAmount({ revenue }: RollupCounts, currency: unknown, amount: unknown): void {
  if (amount !== 0n)
    revenue.set(String(currency), (revenue.get(String(currency)) ?? 0n) + BigInt(String(amount)));
}

const FIGURES = [
  'screenViews',
  'begun',
  'viewed',
  'bounced',
  'lastedMs',
  'title',
  'revenue',
  'visitors',
  'sessionsWithin',
  'sessions',
  'events',
];

/** Sorts by the keys of the rows only, so that a difference shows at the row where it is. */
export function inOrder(rows: readonly PlainRollup[]): readonly PlainRollup[] {
  return rows
    .map((row) => {
      const key = Object.entries(row).filter(([column]) => !FIGURES.includes(column));
      return { row, text: JSON.stringify(key.sort()) };
    })
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row);
}
