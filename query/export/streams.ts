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
import { isAboutFact } from '../filters/insight-conditions.ts';
import type { StreamedAnswer } from '../http/endpoint.ts';
import type { History } from '../snapshot/history.ts';
import { type QuestionScope, rejectAway, type Sources } from '../snapshot/question.ts';
import { type Seam, seamOf } from '../snapshot/seam.ts';
import type { Span } from '../time/range.ts';
import { selectionOf } from './events.ts';
import { type Extent, streamParts } from './stream-parts.ts';

const HOUR_MS = 3_600_000;
/** More than the number of rows in any table. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER;
const FIRST_ID = '0'.repeat(32);

/** A file format for exports without pages. */
export interface StreamForm {
  readonly extension: 'ndjson' | 'csv' | 'parquet';
  readonly summary: string;
  readonly shape: ExportShape;
  readonly mediaType: string;
  /** Appended to the media type in `content-type`. */
  readonly mediaTypeParameters: string;
  /** The name of the format in the store. */
  readonly format: string;
  /** The format for rows that follow other rows, if it differs. */
  readonly continuedFormat?: string;
  /** Whether rows are in order even without `limit` and `cursor`. */
  readonly isOrdered: boolean;
}

export const STREAM_FORMS: readonly StreamForm[] = [
  {
    extension: 'ndjson',
    summary: 'Stream raw events as NDJSON',
    shape: 'json',
    mediaType: 'application/x-ndjson',
    mediaTypeParameters: '; charset=utf-8',
    format: 'JSONEachRow',
    isOrdered: true,
  },
  {
    extension: 'csv',
    summary: 'Stream raw events as CSV',
    shape: 'csv',
    mediaType: 'text/csv',
    mediaTypeParameters: '; charset=utf-8; header=present',
    format: 'CSVWithNames',
    continuedFormat: 'CSV',
    isOrdered: true,
  },
  {
    extension: 'parquet',
    summary: 'Stream raw events as Parquet',
    shape: 'parquet',
    mediaType: 'application/vnd.apache.parquet',
    mediaTypeParameters: '',
    format: 'Parquet',
    // Half a Parquet file is useless, and ordering takes as long as everything else together.
    isOrdered: false,
  },
];

/** See `streamParts`. Each further statement costs a tenth of a second. */
const ROWS_PER_PART = 1_000_000;

/** Rows per block. Where table parts are merged, each part has several blocks in memory. */
const BLOCK_ROWS = 8_192;
const ORDERED_BLOCK_ROWS = 1_024;
/** Keeps memory small, however many rows there are. */
const STREAM_SETTINGS: StoreSettings = {
  ...EXPORT_SETTINGS,
  max_threads: 2,
  optimize_read_in_order: 1,
  // Reads merged table parts on demand: buffering took 200 MB and saved no time.
  read_in_order_use_buffering: 0,
  // Streams need not be identical byte by byte.
  output_format_parquet_parallel_encoding: 1,
};

/**
 * `GET /export/events.ndjson`, `.csv` and `.parquet`: the events of `/export/events` without pages, as the store
 * encodes them, at the pace of the reader.
 */
export async function streamExport(
  { history, hot }: Sources,
  { site, zone }: QuestionScope,
  query: StreamQuery,
  form: StreamForm,
  rowsPerPart: number = ROWS_PER_PART,
): Promise<StreamedAnswer> {
  const { span, conditions, filterTexts } = selectionOf(query, { site, zone });
  const { cursor } = query;
  const hourMs = cursor === undefined ? span.fromMs : Math.floor(cursor.atMs / HOUR_MS) * HOUR_MS;
  history.rejectAway();
  const answers = await hot.rows(site.storedId);
  // A stream has no field that could mark it as partial.
  rejectAway(answers, false);
  const seam = seamOf(answers);
  const all = { fromMs: Math.max(span.fromMs, hourMs), toMs: span.toMs };
  const isOrdered = form.isOrdered || cursor !== undefined || query.limit !== undefined;
  const isInParts = form.isOrdered && query.limit === undefined;
  const parts = isInParts ? await partsOf({ history, seam }, site.storedId, all, rowsPerPart) : [all];
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
    ...filterTexts,
    columns: exportColumns(form.shape, query.includes),
    sources: exportSources(query.includes).join(', '),
    order: isOrdered ? `ORDER BY ${EXPORT_ORDER}` : '',
    settings: { ...STREAM_SETTINGS, max_block_size: isOrdered ? ORDERED_BLOCK_ROWS : BLOCK_ROWS },
  };
  const statements = parts.map((part, index) => ({
    parameters: { ...bound, from: part.fromMs, to: part.toMs },
    seam: hotWithin(seam, part, query.filters.some(isAboutFact)),
    texts: { ...texts, format: index === 0 ? form.format : (form.continuedFormat ?? form.format) },
  }));
  const chunks = history.stream('export-stream', site.storedId, statements);
  return {
    chunks,
    headers: [
      ['content-type', form.mediaType + form.mediaTypeParameters],
      ['content-disposition', `attachment; filename="events.${form.extension}"`],
    ],
  };
}

async function partsOf(
  { history, seam }: { readonly history: History; readonly seam: Seam },
  site: string,
  span: Span,
  rowsPerPart: number,
): Promise<Span[]> {
  const bound = { site, from: span.fromMs, to: span.toMs };
  const [extent] = await history.ask<Extent>({ name: 'export-extent', parameters: bound }, seam);
  return streamParts(span, must(extent, 'a statement without groups has one row'), rowsPerPart);
}

/**
 * Omits the hot rows from parts that contain none of them. Hot sessions are needed in every part if filters ask for their
 * current states.
 */
function hotWithin(seam: Seam, { fromMs, toMs }: Span, isAboutSessions: boolean): Seam {
  return isAboutSessions || [...seam.hotHours].some((hour) => hour + HOUR_MS > fromMs && hour < toMs)
    ? seam
    : { ...seam, eventsHex: '', sessionsHex: '' };
}
