import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Store, StoreError, type StoreParameters, type StoreSettings } from '../../infra/store/store.ts';
import {
  EXPORT_GROUPS,
  EXPORT_ORDER,
  EXPORT_SETTINGS,
  type ExportShape,
  exportColumns,
} from '../event-export.ts';
import type { IntegrationFormat } from '../integration.ts';
import { EVENTS_TABLE } from '../rows.ts';
import { type Condition, type FlushedRows, HOUR_MS, rowsCondition } from './delivered-rows.ts';

interface Form {
  readonly shape: ExportShape;
  readonly format: string;
  readonly isGzipped: boolean;
  /** What the store's text ends in: an answer that was cut off has another end. */
  readonly ending: string;
  readonly contentType: string;
}

const FORMS: Readonly<Record<IntegrationFormat, Form>> = {
  parquet: {
    shape: 'parquet',
    format: 'Parquet',
    isGzipped: false,
    ending: 'PAR1',
    contentType: 'application/vnd.apache.parquet',
  },
  ndjson_gzip: {
    shape: 'json',
    format: 'JSONEachRow',
    isGzipped: true,
    ending: '\n',
    contentType: 'application/gzip',
  },
};

const SETTINGS: StoreSettings = {
  ...EXPORT_SETTINGS,
  // The same rows make the same bytes, so that a file that is made again has the name that it had.
  max_threads: 1,
  // An answer that fails half way must fail, not end in the text of an error.
  wait_end_of_query: 1,
};

/** Where one file ends and the next one begins: the first row of the next. Ids in hexadecimal. */
export interface Cut {
  readonly sessionId: string;
  readonly atMs: number;
  readonly id: string;
}

/** Rows of one hour, from `lower` on and before `upper`; undefined: the hour's beginning and its end. */
export interface FileRows {
  readonly rows: FlushedRows;
  readonly hour: number;
  readonly lower: Cut | undefined;
  readonly upper: Cut | undefined;
}

export interface Measured {
  readonly rows: number;
  /** Times of the first and of the last event, in milliseconds since 1970; without rows they mean nothing. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface EventFile {
  readonly bytes: Buffer;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly contentType: string;
  /** The store had no rows for it. */
  readonly isEmpty: boolean;
}

/** How many rows a file would have, and when they were. */
export async function measure(store: Store, file: FileRows): Promise<Measured> {
  const { sql, parameters } = conditionOf(file);
  const found = await store.query<Measured>(
    `SELECT count() AS rows, toUnixTimestamp64Milli(min(row.createdAt)) AS fromMs,
            toUnixTimestamp64Milli(max(row.createdAt)) AS toMs
     FROM ${EVENTS_TABLE} AS row WHERE ${sql}`,
    parameters,
  );
  return found[0] ?? { rows: 0, fromMs: 0, toMs: 0 };
}

/** The row that so many rows of the file are before; undefined when it has no more than that. */
export async function cutBehind(store: Store, file: FileRows, rowCount: number): Promise<Cut | undefined> {
  const { sql, parameters } = conditionOf(file);
  const found = await store.query<Cut>(
    `SELECT hex(row.sessionId) AS sessionId, toUnixTimestamp64Milli(row.createdAt) AS atMs, hex(row.id) AS id
     FROM ${EVENTS_TABLE} AS row WHERE ${sql}
     ORDER BY ${EXPORT_ORDER} LIMIT 1 OFFSET {rowCount:UInt64}`,
    { ...parameters, rowCount },
  );
  return found[0];
}

/** The file of these rows; undefined when it would be too large. `projectId` is what people call the site. */
export async function makeFile(
  store: Store,
  file: FileRows,
  { projectId, format }: { readonly projectId: string; readonly format: IntegrationFormat },
  bytesMax: number,
): Promise<EventFile | undefined> {
  const form = FORMS[format];
  const { sql, parameters } = conditionOf(file);
  const text = store.bytes(
    `SELECT ${exportColumns(form.shape, EXPORT_GROUPS)} FROM ${EVENTS_TABLE} AS row WHERE ${sql}
     ORDER BY ${EXPORT_ORDER} FORMAT ${form.format}`,
    { ...parameters, projectId },
    SETTINGS,
  );
  const kept = new RollupCache(bytesMax);
  const told = { bytes: 0 };
  const keep = async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) kept.take(piece);
  };
  try {
    if (form.isGzipped) await pipeline(whole(text, form.ending, told), createGzip(), keep);
    else await keep(whole(text, form.ending, told));
  } catch (error) {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  }
  return { ...kept.file(), contentType: form.contentType, isEmpty: told.bytes === 0 };
}

class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

/** Bytes as they come, hashed in pieces: a lane of this process waits for none of it. */
class RollupCache {
  readonly #hash = createHash('sha256');
  readonly #pieces: Buffer[] = [];
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) throw new TooLargeError('a file would be too large');
    this.#hash.update(piece);
    this.#pieces.push(piece);
  }

  file() {
    return { bytes: Buffer.concat(this.#pieces), sha256: this.#hash.digest('hex') };
  }
}

/** Passes an answer on, counts it, and throws when it does not end as an answer does: no rows may be no bytes. */
async function* whole(
  pieces: AsyncIterable<Buffer>,
  ending: string,
  told: { bytes: number },
): AsyncGenerator<Buffer, void, void> {
  let last = Buffer.of();
  for await (const piece of pieces) {
    last = Buffer.concat([last, piece.subarray(-ending.length)]).subarray(-ending.length);
    told.bytes += piece.length;
    yield piece;
  }
  if (told.bytes > 0 && last.toString('latin1') !== ending) throw notWhole();
}

/** The store's answer ended before its end. */
export function notWhole(): StoreError {
  return new StoreError('the answer of the store is not whole', {
    kind: 'retryable',
    failure: 'unreachable',
  });
}

function conditionOf({ rows, hour, lower, upper }: FileRows): Condition {
  const span = { fromMs: hour * HOUR_MS, toMs: (hour + 1) * HOUR_MS };
  const { sql, parameters } = rowsCondition(rows, span);
  const terms = [sql];
  const all: Record<string, unknown> = { ...parameters };
  for (const [name, cut, comparison] of [
    ['lower', lower, '>='],
    ['upper', upper, '<'],
  ] as const) {
    if (cut === undefined) continue;
    terms.push(
      `(row.sessionId, row.createdAt, row.id) ${comparison} (toFixedString(unhex({${name}Session:String}), 16),
        fromUnixTimestamp64Milli({${name}Ms:Int64}, 'UTC'), toFixedString(unhex({${name}Id:String}), 16))`,
    );
    all[`${name}Session`] = cut.sessionId;
    all[`${name}Ms`] = cut.atMs;
    all[`${name}Id`] = cut.id;
  }
  return { sql: terms.join(' AND '), parameters: all satisfies StoreParameters };
}
