import type { StoreSettings } from '../../infra/store.ts';
import {
  EXPORT_ORDER,
  EXPORT_SETTINGS,
  type ExportShape,
  exportColumns,
  exportSources,
} from '../../processor/event-export.ts';
import type { StreamQuery } from '../api.ts';
import type { StreamedAnswer } from '../endpoint.ts';
import { type Asked, refuseAway, type Sources } from '../question.ts';
import { type Seam, seamOf } from '../seam.ts';
import { selectionOf } from './events.ts';

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

/** Blocks are small and few, so that what is under way takes little memory however many rows there are. */
const STREAM_SETTINGS: StoreSettings = {
  ...EXPORT_SETTINGS,
  max_threads: 2,
  max_block_size: 1_024,
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
  { site, zone }: Asked,
  query: StreamQuery,
  form: StreamForm,
): Promise<StreamedAnswer> {
  const { span, conditions, held } = selectionOf(query, { site, zone });
  const { cursor } = query;
  const hourMs = cursor === undefined ? span.fromMs : Math.floor(cursor.atMs / HOUR_MS) * HOUR_MS;
  history.refuseAway();
  const answers = await hot.rows(site.storedId);
  // A stream has no place that could say that something is left out.
  refuseAway(answers, false);
  const seam = hotWithin(seamOf(answers), hourMs);
  const bound = {
    ...conditions,
    projectId: site.id,
    from: Math.max(span.fromMs, hourMs),
    to: span.toMs,
    nextHour: cursor === undefined ? span.fromMs : hourMs + HOUR_MS,
    behindAt: cursor?.atMs ?? span.fromMs,
    behindSession: cursor?.sessionId || FIRST_ID,
    behindId: cursor?.id ?? FIRST_ID,
    limit: query.limit ?? ALL_ROWS,
  };
  const chunks = history.stream('export-stream', bound, seam, {
    ...held,
    columns: exportColumns(form.shape, query.includes),
    sources: exportSources(query.includes).join(', '),
    format: form.format,
    order:
      form.isOrdered || cursor !== undefined || query.limit !== undefined ? `ORDER BY ${EXPORT_ORDER}` : '',
    settings: STREAM_SETTINGS,
  });
  return {
    chunks,
    headers: [
      ['content-type', form.mediaType + form.more],
      ['content-disposition', `attachment; filename="events.${form.extension}"`],
      ['cache-control', 'no-store'],
    ],
  };
}

/** Without the hot rows, where all of them lie before the stream begins. */
function hotWithin(seam: Seam, fromMs: number): Seam {
  return [...seam.hotHours].some((hour) => hour >= fromMs)
    ? seam
    : { ...seam, eventsHex: '', sessionsHex: '' };
}
