import type { ExportAnswer, ExportQuery } from '../api.ts';
import { compileFilters, EVENT_ROWS } from '../filters/compile.ts';
import { type Asked, refuseAway, type Sources } from '../question.ts';
import { pointOf, type Span } from '../range.ts';
import { RefusalError } from '../refusal.ts';
import { seamOf } from '../seam.ts';
import type { Zone } from '../zone.ts';
import { columnsText } from './columns.ts';
import { type ExportRow, exportedEventOf } from './row.ts';

// The years 1900 and 2299 are the ends of what the store's times can hold.
const EVER: Span = { fromMs: Date.UTC(1900, 0, 1), toMs: Date.UTC(2299, 11, 31) };

/**
 * `GET /export/events`. Page and count are two statements over one seam: rows of the events table never change, and
 * both read exactly those up to the seam's flush numbers and the same hot rows.
 */
export async function answerExport(
  { history, hot }: Sources,
  { site, zone }: Asked,
  query: ExportQuery,
): Promise<ExportAnswer> {
  const { fromMs, toMs } = spanOf(query, zone);
  const { condition, parameters } = compileFilters(query.filters, EVENT_ROWS);
  history.refuseAway();
  const answers = await hot.rows(site.storedId);
  refuseAway(answers, query.partial);
  const seam = seamOf(answers);
  const held = { events: condition, hotEvents: condition };
  const conditions = {
    ...parameters,
    site: site.storedId,
    from: fromMs,
    to: toMs,
    names: query.event,
    profileId: query.profileId ?? '',
  };
  const page = { ...conditions, limit: query.limit, offset: (query.page - 1) * query.limit };
  const [rows, counts] = await Promise.all([
    history.ask<ExportRow>('export-events', page, seam, { ...held, columns: columnsText(query.includes) }),
    history.ask<{ readonly total: number }>('export-count', conditions, seam, held),
  ]);
  const totalCount = counts[0]?.total ?? 0;
  const includes = new Set(query.includes);
  return {
    meta: {
      count: rows.length,
      totalCount,
      pages: Math.ceil(totalCount / query.limit),
      current: query.page,
    },
    data: rows.map((row) => exportedEventOf(row, site.id, includes)),
    ...(seam.partial ? { partial: true as const } : {}),
  };
}

/** From the begin of `start` to the end of `end`, in the site's time zone; without them, from or to ever. */
function spanOf({ start, end }: ExportQuery, zone: Zone): Span {
  const from = start === undefined ? EVER.fromMs : pointOf(start, zone)?.fromMs;
  const to = end === undefined ? EVER.toMs : pointOf(end, zone)?.toMs;
  if (from === undefined) throw new RefusalError('invalid', 'start: expected YYYY-MM-DD or an ISO time');
  if (to === undefined) throw new RefusalError('invalid', 'end: expected YYYY-MM-DD or an ISO time');
  if (from >= to) throw new RefusalError('invalid', 'end: it lies before start');
  return { fromMs: from, toMs: to };
}
