import type { ExportAnswer, ExportQuery, ExportSelection } from '../api.ts';
import { type Cursor, cursorBehind } from '../cursor.ts';
import { exportConditions } from '../filters/insight-conditions.ts';
import { isFullPage, pageWithin } from '../page-size.ts';
import { RejectError } from '../reject.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import { type QuestionScope, rejectAway, type SeamSources } from '../snapshot/question.ts';
import { seamOf } from '../snapshot/seam.ts';
import { pointOf, type Span } from '../time/range.ts';
import type { Zone } from '../time/zone.ts';
import { columnsText } from './columns.ts';
import { type EventPage, readEventPage } from './event-page.ts';
import { hasDay, totalFromRollups } from './event-total.ts';
import { awaitProfiles, type ExportSources, readProfiles } from './profiles.ts';
import { exportedEventOf } from './row.ts';

const TOO_LARGE =
  'limit: these rows together are larger than a page may be; use a smaller limit, or begin with cursor=0 and follow nextCursor';
// The range of times that the store can represent.
const EVER: Span = { fromMs: Date.UTC(1900, 0, 1), toMs: Date.UTC(2299, 11, 31) };

/** `GET /export/events`. */
export async function answerExport(
  { history, hot, records }: SeamSources & Pick<ExportSources, 'records'>,
  { site, zone, nowMs }: QuestionScope,
  query: ExportQuery,
  totals = new AnswerCaches().totals,
): Promise<ExportAnswer> {
  const selection = selectionOf(query, { site, zone });
  const cursor = cursorOf(query);
  history.rejectAway(site.storedId);
  const hasProfiles = query.includes.includes('profile');
  const [answers, lacksProfiles] = await Promise.all([
    hot.rows(site.storedId),
    hasProfiles ? awaitProfiles({ records }, { site }, query) : false,
  ]);
  rejectAway(answers, query.partial);
  const seam = seamOf(answers);
  // A rollup of a day knows only the names of events.
  const hasRollups = hasDay(selection.span) && query.filters.length === 0 && query.profileId === undefined;
  const pageOf = (isCounted: boolean) =>
    readEventPage(history, seam, {
      ...selection,
      cursor,
      limit: query.limit,
      nowMs,
      isCounted,
      columns: columnsText(query.includes),
    });
  const [rolledUp, uncounted] = hasRollups
    ? await Promise.all([totalFromRollups(history, seam, selection, totals), pageOf(false)])
    : [undefined, undefined];
  const page = rolledUp === undefined || uncounted === undefined ? await pageOf(true) : uncounted;
  const { rows } = page;
  const total = rolledUp ?? page.total ?? 0;
  const includes = new Set(query.includes);
  const ids = new Set(hasProfiles ? rows.flatMap(({ profileId }) => profileId || []) : []);
  const profiles = await readProfiles(history, seam, site.storedId, ids);
  const whole = rows.map((row) => exportedEventOf(row, site.id, includes, profiles));
  const data = pageWithin(whole);
  // The pages after a numbered one begin at a number of rows, so they would miss the rows that had no room here.
  if (data.length < whole.length && query.cursor === undefined) throw new RejectError('too-large', TOO_LARGE);
  const current = cursor.kind === 'behind' ? cursor.page : Math.floor(cursor.rows / query.limit) + 1;
  const last = isFullPage(data, query.limit) ? data.at(-1) : undefined;
  return {
    meta: {
      count: data.length,
      totalCount: total,
      pages: Math.ceil(total / query.limit),
      current,
      nextCursor: last === undefined ? null : cursorBehind({ at: last.createdAt, id: last.id }, current + 1),
    },
    data,
    ...(seam.partial || lacksProfiles ? { partial: true as const } : {}),
  };
}

/** The selected events, in a form that pages and streams share. */
export function selectionOf(
  query: Omit<ExportSelection, 'partial'>,
  { site, zone }: Pick<QuestionScope, 'site' | 'zone'>,
): Pick<EventPage, 'span' | 'conditions' | 'filterTexts'> {
  const span = spanOf(query, zone);
  const { parameters, ...filterTexts } = exportConditions(query.filters, { span });
  return {
    span,
    conditions: {
      ...parameters,
      site: site.storedId,
      names: query.event,
      // Exports include the synthetic events that mark the start and end of a session.
      synthetic: [],
      profileId: query.profileId ?? '',
      sessionId: '',
    },
    filterTexts,
  };
}

function cursorOf({ page, cursor, limit }: ExportQuery): Cursor {
  if (cursor === undefined) return { kind: 'rows', rows: ((page ?? 1) - 1) * limit };
  if (page !== undefined) throw new RejectError('invalid', 'cursor: cannot be combined with page');
  return cursor;
}

/** From the start of `start` to the end of `end` in the site's time zone; without them, unbounded. */
function spanOf({ start, end }: Pick<ExportSelection, 'start' | 'end'>, zone: Zone): Span {
  const from = start === undefined ? EVER.fromMs : pointOf(start, zone)?.fromMs;
  const to = end === undefined ? EVER.toMs : pointOf(end, zone)?.toMs;
  if (from === undefined) throw new RejectError('invalid', 'start: expected YYYY-MM-DD or an ISO time');
  if (to === undefined) throw new RejectError('invalid', 'end: expected YYYY-MM-DD or an ISO time');
  if (from >= to) throw new RejectError('invalid', 'end: expected a time after start');
  return { fromMs: from, toMs: to };
}
