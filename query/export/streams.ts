import type { z } from 'zod';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreSettings } from '../../infra/store/replication.ts';
import {
  EXPORT_ORDER,
  EXPORT_SETTINGS,
  type ExportShape,
  exportColumns,
  exportSources,
} from '../../processor/event-export.ts';
import { csvQuery, type StreamQuery, streamQuery } from '../api.ts';
import { isAboutFact } from '../filters/insight-conditions.ts';
import type { StreamedAnswer } from '../http/endpoint.ts';
import type { History } from '../snapshot/history.ts';
import { type QuestionScope, rejectAway } from '../snapshot/question.ts';
import { type Seam, seamOf } from '../snapshot/seam.ts';
import type { Span } from '../time/range.ts';
import { selectionOf } from './events.ts';
import { awaitProfiles, type ExportSources, groupsWithoutProfile, profileColumns } from './profiles.ts';
import { streamParts } from './stream-parts.ts';

/** More than the number of rows in any table. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER;
const FIRST_ID = '0'.repeat(32);

/** A file format for exports without pages. */
export interface StreamForm {
  readonly extension: 'ndjson' | 'csv' | 'parquet';
  readonly summary: string;
  /** Notes on only this format. */
  readonly note?: string;
  readonly schema: z.ZodType<StreamQuery>;
  readonly shape: ExportShape;
  readonly mediaType: string;
  /** Appended to the media type in `content-type`. */
  readonly mediaTypeParameters: string;
  /** The name of the format in the store. */
  readonly format: string;
  /** The format for rows that follow other rows, if it differs. */
  readonly continuedFormat?: string;
  /** True if rows are in order even without `limit` and `cursor`. */
  readonly isOrdered: boolean;
}

const PROFILE_NOTE =
  'With `includes=profile` there are columns for the profile that `profileId` names, as it is now: `profileFirstName`, `profileLastName`, `profileEmail`, `profileAvatar`, `profileProperties`, `profileGroups`, `profileCreatedAt` and `profileUpdatedAt`. For an event without a profile, and for a profile that no update describes or that is being erased, texts, properties and groups are empty and times are null.';

export const STREAM_FORMS: readonly StreamForm[] = [
  {
    extension: 'ndjson',
    summary: 'Stream raw events as NDJSON',
    schema: streamQuery,
    shape: 'json',
    mediaType: 'application/x-ndjson',
    mediaTypeParameters: '; charset=utf-8',
    format: 'JSONEachRow',
    isOrdered: true,
  },
  {
    extension: 'csv',
    summary: 'Stream raw events as CSV',
    note: `RFC 4180 with a header, UTF-8. Texts and times are quoted, and an unknown text is \`""\`. Numbers are not quoted. An unknown number or time is an empty field without quotes. \`groups\` and \`properties\` are JSON. ${PROFILE_NOTE} Use \`safe=true\` for files that people open in a spreadsheet: a text that begins with \`=\`, \`+\`, \`-\`, \`@\`, a tab or the end of a line gets an apostrophe before it, and so does each \`=\`, \`+\`, \`-\` and \`@\` within a text that follows a semicolon, a tab or the end of a line, because some spreadsheets begin a cell there.`,
    schema: csvQuery,
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
    note: `Columns are flat; \`properties\` is a map and \`groups\` a list. ${PROFILE_NOTE}`,
    schema: streamQuery,
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

/** With profiles, the rows of a part are sorted before the first is sent. */
const SORTED_ROWS_PER_PART = 250_000;

/** Rows per block. Where table parts are merged, each part has several blocks in memory. */
const BLOCK_ROWS = 8_192;
const ORDERED_BLOCK_ROWS = 1_024;
/** Keeps memory small for any number of rows. */
const STREAM_SETTINGS: StoreSettings = {
  ...EXPORT_SETTINGS,
  max_threads: 2,
  optimize_read_in_order: 1,
  // Reads merged table parts on demand: buffering took 200 MB and saved no time.
  read_in_order_use_buffering: 0,
  // Streams need not be identical byte by byte.
  output_format_parquet_parallel_encoding: 1,
};

/** Condition of export-stream-profiles.sql that joins only the profiles of the found events. */
const FOUND_PROFILES = 'id IN (SELECT profileId FROM found)';

/** For streams with profiles: more data than this goes to disk. */
const JOIN_SETTINGS: StoreSettings = {
  join_algorithm: 'grace_hash',
  max_bytes_in_join: 67_108_864,
  max_bytes_before_external_sort: 67_108_864,
};

/**
 * `GET /export/events.ndjson`, `.csv` and `.parquet`: the events of `/export/events` without pages, as the store
 * encodes them, at the pace of the reader.
 */
export async function streamExport(
  { history, hot, records }: ExportSources,
  { site, zone }: QuestionScope,
  query: StreamQuery,
  form: StreamForm,
  rowsPerPart?: number,
): Promise<StreamedAnswer> {
  const { span, conditions, filterTexts } = selectionOf(query, { site, zone });
  const { cursor } = query;
  const hourMs = cursor === undefined ? span.fromMs : Math.floor(cursor.atMs / HOUR_MS) * HOUR_MS;
  history.rejectAway(site.storedId);
  const hasProfiles = query.includes.includes('profile');
  const [answers] = await Promise.all([
    hot.rows(site.storedId),
    hasProfiles ? awaitProfiles({ records }, { site }, { partial: false }) : undefined,
  ]);
  // A stream has no field that could mark it as partial.
  rejectAway(answers, false);
  const seam = seamOf(answers);
  const all = { fromMs: Math.max(span.fromMs, hourMs), toMs: span.toMs };
  const isOrdered = form.isOrdered || cursor !== undefined || query.limit !== undefined;
  const isInParts = form.isOrdered && query.limit === undefined;
  const rowsOfPart = rowsPerPart ?? (hasProfiles ? SORTED_ROWS_PER_PART : ROWS_PER_PART);
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
    ...filterTexts,
    columns: columnsOf(form.shape, query),
    // All profiles of a whole export would be too many for a set.
    rows: isInParts || query.limit !== undefined ? FOUND_PROFILES : '1',
    sources: exportSources(query.includes).join(', '),
    order: isOrdered ? `ORDER BY ${EXPORT_ORDER}` : '',
    settings: {
      ...STREAM_SETTINGS,
      ...(hasProfiles ? JOIN_SETTINGS : {}),
      use_index_for_in_with_subqueries: query.limit === undefined ? 0 : 1,
      max_block_size: isOrdered ? ORDERED_BLOCK_ROWS : BLOCK_ROWS,
    },
  };
  const statements = parts.map((part, index) => ({
    parameters: { ...bound, from: part.fromMs, to: part.toMs },
    seam: hotWithin(seam, part, query.filters.some(isAboutFact)),
    texts: { ...texts, format: index === 0 ? form.format : (form.continuedFormat ?? form.format) },
  }));
  const name = hasProfiles ? 'export-stream-profiles' : 'export-stream';
  return {
    ...history.stream(name, site.storedId, statements),
    headers: [
      ['content-type', form.mediaType + form.mediaTypeParameters],
      ['content-disposition', `attachment; filename="events.${form.extension}"`],
    ],
  };
}

/** The select list of a stream. */
function columnsOf(shape: ExportShape, { includes, safe }: StreamQuery): string {
  const writtenAs = safe ? safeText : (text: string) => text;
  const ofEvent = exportColumns(shape, groupsWithoutProfile(includes), writtenAs);
  return includes.includes('profile') ? `${ofEvent},\n    ${profileColumns(shape, writtenAs)}` : ofEvent;
}

/**
 * A text that a spreadsheet does not run, by OWASP's rule for CSV. Spreadsheets that separate cells by semicolons or
 * tabs ignore quotes around a text, so the rule also applies after each semicolon and tab in it.
 */
function safeText(text: string): string {
  const within = `replaceRegexpAll(${text}, '([;\\t\\r\\n]"*)([=+@-])', '\\\\1\\'\\\\2')`;
  return `if(substring(${text}, 1, 1) IN ('=', '+', '-', '@', '\\t', '\\r', '\\n'), concat('\\'', ${within}), ${within})`;
}

async function partsOf(
  { history, seam }: { readonly history: History; readonly seam: Seam },
  site: StoredId,
  span: Span,
  rowsPerPart: number,
): Promise<Span[]> {
  const bound = { site, from: span.fromMs, to: span.toMs };
  const [extent] = await history.ask({ name: 'export-extent', parameters: bound }, seam);
  return streamParts(span, must(extent, 'a statement without groups has one row'), rowsPerPart);
}

/**
 * Omits the hot rows from parts that contain none of them. Hot sessions are needed in every part if filters ask for their
 * current states.
 */
function hotWithin(seam: Seam, { fromMs, toMs }: Span, isAboutSessions: boolean): Seam {
  return isAboutSessions || [...seam.hotHours].some((hour) => hour + HOUR_MS > fromMs && hour < toMs)
    ? seam
    : { ...seam, hot: [] };
}
