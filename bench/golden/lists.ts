import type { BreakdownAnswer } from '../../query/insights/breakdown-api.ts';
import type { PagesAnswer } from '../../query/insights/pages-api.ts';
import type { ListedSession } from '../../query/insights/session-list-api.ts';
import type { AskedFilter } from './filters.ts';
import {
  byBytes,
  byTime,
  earned,
  groupsOf,
  heldRows,
  ratesOf,
  retainedSessions,
  type SiteModel,
  sessionFigures,
  visitorsOf,
} from './model.ts';
import { isIn, type Parameters, type Span } from './ranges.ts';
import { majorUnits, type Row, type Session, type WholeEvent } from './rows.ts';

/** Whole lists, of which a question gets one page. */

/** Each dimension by its name in a path: the field of an entry, and its parent field. */
export const DIMENSIONS: Readonly<
  Record<string, readonly [name: keyof WholeEvent | 'hostname', prefix?: keyof WholeEvent]>
> = {
  referrer: ['referrer'],
  referrer_name: ['referrerName'],
  referrer_type: ['referrerType'],
  utm_source: ['utmSource'],
  utm_medium: ['utmMedium'],
  utm_campaign: ['utmCampaign'],
  utm_term: ['utmTerm'],
  utm_content: ['utmContent'],
  channel: ['channel'],
  country: ['country'],
  region: ['region', 'country'],
  city: ['city', 'country'],
  device: ['device'],
  brand: ['brand'],
  model: ['model', 'brand'],
  browser: ['browser'],
  browser_version: ['browserVersion', 'browser'],
  os: ['os'],
  os_version: ['osVersion', 'os'],
  language: ['language'],
  timezone: ['timezone'],
  screen: ['screen'],
  entry_hostname: ['hostname'],
};

export function breakdownRows(
  model: SiteModel,
  dimension: string,
  span: Span,
  filters: readonly AskedFilter[],
): BreakdownAnswer {
  const [name, prefix] = DIMENSIONS[dimension] ?? [];
  if (name === undefined) throw new Error(`no dimension ${dimension}`);
  const textOf = ({ entry: { event } }: Session, field: keyof WholeEvent | 'hostname' | undefined) => {
    if (field === 'hostname') return event.origin === '' ? '' : new URL(event.origin).hostname;
    return field === undefined ? '' : String(event[field]);
  };
  return groupsOf(retainedSessions(model, filters, span), (session) => [
    textOf(session, name),
    textOf(session, prefix),
  ])
    .map(({ key: [named = '', prefixed = ''], members }) => ({
      named,
      prefixed,
      figures: sessionFigures(members, model.currency),
    }))
    .sort(
      (a, b) =>
        b.figures.sessions - a.figures.sessions ||
        byBytes(a.named, b.named) ||
        byBytes(a.prefixed, b.prefixed),
    )
    .map(({ named, prefixed, figures }) => ({
      name: named || null,
      ...(prefix === undefined ? {} : { prefix: prefixed || null }),
      ...figures,
    }));
}

export function pageRows(model: SiteModel, span: Span, filters: readonly AskedFilter[]): PagesAnswer {
  const happened = heldRows(model, filters).filter(({ atMs }) => isIn(span, atMs));
  const begun = retainedSessions(model, filters, span);
  // The title of a page does not depend on the filters.
  const seen = model.rows.filter(({ isView, atMs }) => isView && isIn(span, atMs));
  const rows = groupsOf(happened, pageOf).flatMap(({ key, members }) => {
    const views = members.filter(({ isView }) => isView);
    if (views.length === 0) return [];
    const [origin = '', path = ''] = key;
    const { bounces, seconds } = ratesOf(begun.filter(({ entry }) => isPage(entry, key)));
    return {
      origin,
      path,
      title: lastTitle(seen.filter((view) => isPage(view, key))),
      sessions: new Set(views.map(({ event }) => event.sessionId).filter((id) => id !== '')).size,
      pageviews: views.length,
      visitors: visitorsOf(views),
      bounce_rate: bounces,
      avg_duration: seconds,
      revenue: earned(members, model.currency),
    };
  });
  return rows.sort(byRank);
}

export function entryExitRows(
  model: SiteModel,
  mode: 'entry' | 'exit',
  span: Span,
  filters: readonly AskedFilter[],
): PagesAnswer {
  const views = model.rows.filter(({ isView, atMs }) => isView && isIn(span, atMs));
  const rows = groupsOf(retainedSessions(model, filters, span), (session) => pageOf(session[mode])).map(
    ({ key, members }) => {
      const [origin = '', path = ''] = key;
      return {
        origin,
        path,
        title: lastTitle(views.filter((view) => isPage(view, key))),
        ...sessionFigures(members, model.currency),
      };
    },
  );
  return rows.sort(byRank);
}

function pageOf({ event }: Row): readonly string[] {
  return [event.origin, event.path];
}

function isPage(row: Row, key: readonly string[]): boolean {
  return row.event.origin === key[0] && row.event.path === key[1];
}

/** Among events of one moment, the greatest id is the last. */
function lastTitle(views: readonly Row[]): string {
  const titled = views.filter(({ event }) => event.title !== '');
  titled.sort((a, b) => a.atMs - b.atMs || byBytes(a.event.id, b.event.id));
  return titled.at(-1)?.event.title ?? '';
}

function byRank(a: PagesAnswer[number], b: PagesAnswer[number]): number {
  return b.sessions - a.sessions || byBytes(a.path, b.path) || byBytes(a.origin, b.origin);
}

/** The rows that `event` names, or all that clients sent. */
function namedRows(rows: readonly Row[], span: Span, { event = [] }: Parameters): Row[] {
  const names = [event].flat();
  return rows.filter(
    (row) => isIn(span, row.atMs) && (names.length === 0 ? !row.isSynthetic : names.includes(row.event.name)),
  );
}

export function eventRows(
  model: SiteModel,
  parameters: Parameters,
  span: Span,
  filters: readonly AskedFilter[],
) {
  const { profileId, sessionId } = parameters;
  return namedRows(heldRows(model, filters), span, parameters)
    .filter(({ event }) => profileId === undefined || event.profileId === profileId)
    .filter(({ event }) => sessionId === undefined || event.sessionId === sessionId)
    .sort(byTime)
    .map(({ event: { profile, meta, sdkName, sdkVersion, ...listed } }) => listed);
}

/** Words with the number of events that have them. */
function counted(words: readonly string[]): (readonly [word: string, count: number])[] {
  return groupsOf(words, (word) => [word])
    .map(({ key: [word = ''], members }) => [word, members.length] as const)
    .sort((a, b) => b[1] - a[1] || byBytes(a[0], b[0]));
}

export function nameRows(model: SiteModel, span: Span, filters: readonly AskedFilter[]) {
  const names = heldRows(model, filters)
    .filter(({ atMs }) => isIn(span, atMs))
    .map(({ event }) => event.name);
  return counted(names).map(([name, count]) => ({ name, count }));
}

export function keyRows(
  model: SiteModel,
  parameters: Parameters,
  span: Span,
  filters: readonly AskedFilter[],
) {
  const rows = namedRows(heldRows(model, filters), span, parameters);
  return counted(rows.flatMap(({ event }) => Object.keys(event.properties))).map(([name, count]) => ({
    name,
    count,
  }));
}

export function valueRows(
  model: SiteModel,
  parameters: Parameters,
  span: Span,
  filters: readonly AskedFilter[],
) {
  const key = String(parameters.property);
  const rows = namedRows(heldRows(model, filters), span, parameters);
  const values = rows.flatMap(({ event: { properties } }) =>
    Object.hasOwn(properties, key) ? [properties[key] ?? ''] : [],
  );
  return counted(values).map(([value, count]) => ({ value, count }));
}

export function sessionRows(
  model: SiteModel,
  { profileId }: Parameters,
  span: Span,
  filters: readonly AskedFilter[],
): ListedSession[] {
  return retainedSessions(model, filters, span)
    .filter((session) => profileId === undefined || session.profileId === profileId)
    .sort((a, b) => b.startMs - a.startMs || byBytes(a.id, b.id))
    .map((session) => listedSession(session, model.currency));
}

function listedSession(
  { entry, exit, revenue, startMs, endMs, ...session }: Session,
  currency: string,
): ListedSession {
  const { event } = entry;
  return {
    id: session.id,
    deviceId: session.deviceId,
    profileId: session.profileId,
    startedAt: new Date(startMs).toISOString(),
    endedAt: new Date(endMs).toISOString(),
    duration: endMs - startMs,
    isBounce: session.views <= 1,
    screenViews: session.views,
    events: session.others,
    entryOrigin: event.origin,
    entryPath: event.path,
    exitOrigin: exit.event.origin,
    exitPath: exit.event.path,
    referrer: event.referrer,
    referrerName: event.referrerName,
    referrerType: event.referrerType,
    utmSource: event.utmSource,
    utmMedium: event.utmMedium,
    utmCampaign: event.utmCampaign,
    utmTerm: event.utmTerm,
    utmContent: event.utmContent,
    channel: event.channel,
    country: event.country,
    region: event.region,
    city: event.city,
    browser: event.browser,
    os: event.os,
    device: event.device,
    brand: event.brand,
    model: event.model,
    language: event.language,
    timezone: event.timezone,
    screen: event.screen,
    revenue: majorUnits(revenue.get(currency) ?? 0n, currency),
    revenueByCurrency: Object.fromEntries([...revenue].map(([code, sum]) => [code, majorUnits(sum, code)])),
  };
}
