import type { SessionFact, VisitColumn } from '../../processor/fields.ts';
import type { Span } from '../time/range.ts';
import type { ModelVisit, SeenEvent, VisitEvent } from './visits.ts';

const CENTS: Readonly<Record<string, number>> = { EUR: 100, USD: 100, JPY: 1 };

/** The input of the recounts. */
export interface Recounted {
  readonly span: Span;
  readonly currency: string;
  readonly events: readonly SeenEvent[];
  readonly visits: readonly ModelVisit[];
}

/** All rows of a breakdown, by looking at the sessions of each value in turn. Slow and obvious. */
export function recountBreakdown(
  of: Recounted,
  field: VisitColumn | SessionFact,
  parent: VisitColumn | undefined,
) {
  const rows = groupsOf(begun(of), (visit) => [
    textOf(visit, field),
    parent === undefined ? '' : textOf(visit, parent),
  ]).map(({ key: [name, prefix], members }) => ({ name, prefix, ...sessionFigures(members, of.currency) }));
  rows.sort((a, b) => b.sessions - a.sessions || byBytes(a.name, b.name) || byBytes(a.prefix, b.prefix));
  return rows.map(({ name, prefix, ...figures }) => ({
    name: name || null,
    ...(parent === undefined ? {} : { prefix: prefix || null }),
    ...figures,
  }));
}

function textOf({ texts }: ModelVisit, field: string): string {
  if (field === 'entryHostname') return texts.entryOrigin ? new URL(texts.entryOrigin).hostname : '';
  return Object.entries(texts).find(([column]) => column === field)?.[1] ?? '';
}

/** All rows of `pages`. */
export function recountPages(of: Recounted) {
  const happened = of.events.filter(({ atMs }) => isIn(of.span, atMs));
  const rows = groupsOf(happened.filter(isScreenView), ({ path, origin }) => [path, origin]).map(
    ({ key: [path, origin], members }) => {
      const entered = begun(of).filter(
        ({ texts }) => texts.entryPath === path && texts.entryOrigin === origin,
      );
      const { bounce_rate, avg_duration } = sessionFigures(entered, of.currency);
      const sales = happened.filter(
        (event) => event.path === path && event.origin === origin && event.currency === of.currency,
      );
      return {
        origin,
        path,
        title: titleOf(members),
        sessions: distinct(members.map(({ sessionId }) => sessionId)),
        pageviews: members.length,
        visitors: distinct(members.map(({ visitor }) => visitor)),
        bounce_rate,
        avg_duration,
        revenue: major(
          sales.map(({ revenue }) => revenue),
          of.currency,
        ),
      };
    },
  );
  return rows.sort(byRank);
}

/** All rows of `pages/entry_exit`. */
export function recountEntryExit(of: Recounted, mode: 'entry' | 'exit') {
  const views = of.events.filter((event) => isIn(of.span, event.atMs) && isScreenView(event));
  const rows = groupsOf(begun(of), ({ texts }) =>
    mode === 'entry'
      ? [texts.entryPath ?? '', texts.entryOrigin ?? '']
      : [texts.exitPath ?? '', texts.exitOrigin ?? ''],
  ).map(({ key: [path, origin], members }) => ({
    origin,
    path,
    title: titleOf(views.filter((view) => view.path === path && view.origin === origin)),
    ...sessionFigures(members, of.currency),
  }));
  return rows.sort(byRank);
}

function begun({ visits, span }: Recounted): readonly ModelVisit[] {
  return visits.filter(({ startedAtMs }) => isIn(span, startedAtMs));
}

type GroupKey = readonly [string, string];

function groupsOf<Member>(members: readonly Member[], keyOf: (member: Member) => GroupKey) {
  const keys = new Map(members.map((member) => [JSON.stringify(keyOf(member)), keyOf(member)]));
  return [...keys].map(([text, key]) => ({
    key,
    members: members.filter((member) => JSON.stringify(keyOf(member)) === text),
  }));
}

function sessionFigures(visits: readonly ModelVisit[], currency: string) {
  const bounces = visits.filter(({ screenViews }) => screenViews <= 1).length;
  const durationMs = visits.reduce((sum, visit) => sum + visit.endedAtMs - visit.startedAtMs, 0);
  return {
    sessions: visits.length,
    pageviews: visits.reduce((sum, { screenViews }) => sum + screenViews, 0),
    visitors: distinct(visits.map(visitorOf)),
    bounce_rate: visits.length === 0 ? 0 : hundredths((bounces * 100) / visits.length),
    avg_duration: visits.length === 0 ? 0 : hundredths(durationMs / 1000 / visits.length),
    revenue: major(
      visits.map(({ revenue }) => revenue.get(currency) ?? 0n),
      currency,
    ),
  };
}

/** The latest title; at the same time, the title of the view with the greatest id. */
function titleOf(views: readonly VisitEvent[]): string {
  const titled = views.filter(({ title }) => title !== '');
  titled.sort((a, b) => a.atMs - b.atMs || byBytes(a.id.padStart(32, '0'), b.id.padStart(32, '0')));
  return titled.at(-1)?.title ?? '';
}

function visitorOf({ profileId, deviceId }: ModelVisit): string {
  return profileId === '' ? deviceId : profileId;
}

function distinct(ids: readonly string[]): number {
  return new Set(ids.filter((id) => id !== '')).size;
}

function major(amounts: readonly bigint[], currency: string): number {
  return Number(amounts.reduce((sum, amount) => sum + amount, 0n)) / (CENTS[currency] ?? 1);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

function isScreenView({ name }: VisitEvent): boolean {
  return name === 'screen_view';
}

function isIn({ fromMs, toMs }: Span, atMs: number): boolean {
  return atMs >= fromMs && atMs < toMs;
}

interface Ranked {
  readonly sessions: number;
  readonly path: string;
  readonly origin: string;
}

function byRank(a: Ranked, b: Ranked): number {
  return b.sessions - a.sessions || byBytes(a.path, b.path) || byBytes(a.origin, b.origin);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
