import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreSettings } from '../../infra/store/replication.ts';
import type { Store, StoreParameters } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import {
  EXPORT_GROUPS,
  EXPORT_ORDER,
  EXPORT_SETTINGS,
  type ExportShape,
  exportColumns,
} from '../event-export.ts';
import type { IntegrationFormat } from '../integration.ts';
import { EVENTS_TABLE } from '../rows.ts';
import { type Condition, type FlushedRows, rowsCondition } from './delivered-rows.ts';

interface Form {
  readonly shape: ExportShape;
  readonly format: string;
  readonly isGzipped: boolean;
  /** The end of every complete answer of the store; an answer that was cut off ends otherwise. */
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
  // The same rows give the same bytes, so that a file that is made again has the same name.
  max_threads: 1,
  // Without it an answer that fails half way would end in the text of an error.
  wait_end_of_query: 1,
};

/** Boundary between two files: the first row of the second. Ids in hexadecimal. */
export interface Cut {
  readonly sessionId: string;
  readonly atMs: number;
  readonly id: string;
}

/** Rows of one hour, from `lower` on and before `upper`; undefined: from the hour's beginning, or to its end. */
export interface FileRows {
  readonly rows: FlushedRows;
  readonly hour: number;
  readonly lower: Cut | undefined;
  readonly upper: Cut | undefined;
}

export interface Measured {
  readonly rows: number;
  /** Times of the first and of the last event, in milliseconds since 1970; without rows they have no meaning. */
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

/** The number of rows of a file, and their times. */
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

/** The row after the first `rowCount` rows of the file; undefined when it has no more rows. */
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

/** Makes the file of these rows; undefined when it would be too large. `projectId` is the public id of the site. */
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
  const collected = new FileBytes(bytesMax);
  const received = { bytes: 0 };
  const collect = async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) collected.take(piece);
  };
  try {
    if (form.isGzipped) await pipeline(checkedEnd(text, form.ending, received), createGzip(), collect);
    else await collect(checkedEnd(text, form.ending, received));
  } catch (error) {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  }
  return { ...collected.file(), contentType: form.contentType, isEmpty: received.bytes === 0 };
}

class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

/** Collects bytes and hashes them piece by piece, so that the lanes of this process never wait for one long hash. */
class FileBytes {
  readonly #hash = createHash('sha256');
  readonly #pieces: Buffer[] = [];
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) throw new TooLargeError('the file would be too large');
    this.#hash.update(piece);
    this.#pieces.push(piece);
  }

  file() {
    return { bytes: Buffer.concat(this.#pieces), sha256: this.#hash.digest('hex') };
  }
}

/**
 * Passes an answer on and counts its bytes. Throws when the end of a complete answer is missing; an answer without rows
 * may have no bytes.
 */
async function* checkedEnd(
  pieces: AsyncIterable<Buffer>,
  ending: string,
  received: { bytes: number },
): AsyncGenerator<Buffer, void, void> {
  let last = Buffer.of();
  for await (const piece of pieces) {
    last = Buffer.concat([last, piece.subarray(-ending.length)]).subarray(-ending.length);
    received.bytes += piece.length;
    yield piece;
  }
  if (received.bytes > 0 && last.toString('latin1') !== ending) throw incompleteAnswer();
}

/** The store's answer was cut off. */
export function incompleteAnswer(): StoreError {
  return new StoreError('the store returned an incomplete answer', {
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
