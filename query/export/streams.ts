import { must } from '../../infra/assert.ts';
import type { StoreSettings } from '../../infra/store/store.ts';
import {
  EXPORT_ORDER,
  EXPORT_SETTINGS,
  type ExportShape,
  exportColumns,
  exportSources,
} from '../../processor/event-export.ts';
import type { StreamQuery } from '../api.ts';
import type { StreamedAnswer } from '../http/endpoint.ts';
import type { History } from '../snapshot/history.ts';
import { type QuestionScope, rejectAway, type Sources } from '../snapshot/question.ts';
import { type Seam, seamOf } from '../snapshot/seam.ts';
import type { Span } from '../time/range.ts';
import { selectionOf } from './events.ts';
import { type Extent, streamParts } from './stream-parts.ts';

const HOUR_MS = 3_600_000;
/** More than a table has rows. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER;
const FIRST_ID = '0'.repeat(32);

/** One form in which all events are exported at once. */
export interface StreamForm {
  readonly extension: 'ndjson' | 'csv' | 'parquet';
  readonly summary: string;
  readonly shape: ExportShape;
  readonly mediaType: string;
  /** What stands behind it in `content-type`. */
  readonly more: string;
  /** As the store calls it. */
  readonly format: string;
  /** The same for what stands behind other rows, where that differs. */
  readonly formatBehind?: string;
  /** Whether rows come in order also where nobody says from where or how many. */
  readonly isOrdered: boolean;
}

export const STREAM_FORMS: readonly StreamForm[] = [
  {
    extension: 'ndjson',
    summary: 'All raw events, one JSON object a line',
    shape: 'json',
    mediaType: 'application/x-ndjson',
    more: '; charset=utf-8',
    format: 'JSONEachRow',
    isOrdered: true,
  },
  {
    extension: 'csv',
    summary: 'All raw events as CSV with a line of names',
    shape: 'csv',
    mediaType: 'text/csv',
    more: '; charset=utf-8; header=present',
    format: 'CSVWithNames',
    formatBehind: 'CSV',
    isOrdered: true,
  },
  {
    extension: 'parquet',
    summary: 'All raw events as a Parquet file',
    shape: 'parquet',
    mediaType: 'application/vnd.apache.parquet',
    more: '',
    format: 'Parquet',
    // Half of a file is of no use, and to keep an order takes as long as all else.
    isOrdered: false,
  },
];

/** See `streamParts`. A statement more costs a tenth of a second. */
const ROWS_OF_PART = 1_000_000;

/** Rows of a block; where parts are merged, each of them has some under way. */
const BLOCK_ROWS = 8_192;
const ORDERED_BLOCK_ROWS = 1_024;
/** What is under way takes little memory, however many rows there are. */
const STREAM_SETTINGS: StoreSettings = {
  ...EXPORT_SETTINGS,
  max_threads: 2,
  optimize_read_in_order: 1,
  // Parts that are merged are read as they are needed: what they hold ahead took 200 MB, and no time less.
  read_in_order_use_buffering: 0,
  // Nobody compares the bytes of two streams.
  output_format_parquet_parallel_encoding: 1,
};

/**
 * `GET /export/events.ndjson`, `.csv` and `.parquet`: the events that `/export/events` would page through, as the store
 * writes them, at the pace of the reader.
 */
export async function streamExport(
  { history, hot }: Sources,
  { site, zone }: QuestionScope,
  query: StreamQuery,
  form: StreamForm,
  rowsOfPart: number = ROWS_OF_PART,
): Promise<StreamedAnswer> {
  const { span, conditions, held } = selectionOf(query, { site, zone });
  const { cursor } = query;
  const hourMs = cursor === undefined ? span.fromMs : Math.floor(cursor.atMs / HOUR_MS) * HOUR_MS;
  history.rejectAway();
  const answers = await hot.rows(site.storedId);
  // A stream has no place that could say that something is left out.
  rejectAway(answers, false);
  const seam = seamOf(answers);
  const all = { fromMs: Math.max(span.fromMs, hourMs), toMs: span.toMs };
  const isOrdered = form.isOrdered || cursor !== undefined || query.limit !== undefined;
  const isInParts = form.isOrdered && query.limit === undefined;
  const parts = isInParts ? await partsOf({ history, seam }, site.storedId, all, rowsOfPart) : [all];
  const bound = {
    ...conditions,
    projectId: site.id,
    nextHour: cursor === undefined ? span.fromMs : hourMs + HOUR_MS,
    behindAt: cursor?.atMs ?? span.fromMs,
    behindSession: cursor?.sessionId || FIRST_ID,
    behindId: cursor?.id ?? FIRST_ID,
    limit: query.limit ?? ALL_ROWS,
  };
  const texts = {
    ...held,
    columns: exportColumns(form.shape, query.includes),
    sources: exportSources(query.includes).join(', '),
    order: isOrdered ? `ORDER BY ${EXPORT_ORDER}` : '',
    settings: { ...STREAM_SETTINGS, max_block_size: isOrdered ? ORDERED_BLOCK_ROWS : BLOCK_ROWS },
  };
  const statements = parts.map((part, index) => ({
    parameters: { ...bound, from: part.fromMs, to: part.toMs },
    seam: hotWithin(seam, part),
    texts: { ...texts, format: index === 0 ? form.format : (form.formatBehind ?? form.format) },
  }));
  const chunks = history.stream('export-stream', site.storedId, statements);
  return {
    chunks,
    headers: [
      ['content-type', form.mediaType + form.more],
      ['content-disposition', `attachment; filename="events.${form.extension}"`],
      ['cache-control', 'no-store'],
    ],
  };
}

async function partsOf(
  { history, seam }: { readonly history: History; readonly seam: Seam },
  site: string,
  span: Span,
  rowsOfPart: number,
): Promise<Span[]> {
  const bound = { site, from: span.fromMs, to: span.toMs };
  const [extent] = await history.ask<Extent>({ name: 'export-extent', parameters: bound }, seam);
  return streamParts(span, must(extent, 'a statement without groups has one row'), rowsOfPart);
}

/** Without the hot rows, where all of them lie elsewhere. */
function hotWithin(seam: Seam, { fromMs, toMs }: Span): Seam {
  return [...seam.hotHours].some((hour) => hour + HOUR_MS > fromMs && hour < toMs)
    ? seam
    : { ...seam, eventsHex: '', sessionsHex: '' };
}
