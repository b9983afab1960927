import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
// Part of the client, which it does not export.
import { formatQueryParams } from '@clickhouse/client/dist/common/data_formatter/format_query_params.js';

/** A statement and the values that it binds. */
export interface StoreStatement {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Rows that travel with a statement, which reads them as a table of this name. */
export interface StatementTable {
  readonly name: string;
  /** `column Type, …`. */
  readonly structure: string;
  /** RowBinary for these columns. */
  readonly bytes: Uint8Array;
}

/**
 * The body of a statement with external tables, which the client cannot make: a form with the parameters, which may be
 * long, and with a file for each table.
 */
export function formOf(
  parameters: Readonly<Record<string, unknown>> = {},
  tables: readonly StatementTable[],
) {
  const boundary = `footfall-${randomUUID()}`;
  const pieces: (string | Uint8Array)[] = [];
  const add = (name: string, value: string | Uint8Array, attributes = '') => {
    pieces.push(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${attributes}\r\n\r\n`,
      value,
      '\r\n',
    );
  };
  for (const [name, value] of Object.entries(parameters)) add(`param_${name}`, formatQueryParams({ value }));
  for (const { name, structure, bytes } of tables) {
    add(`${name}_format`, 'RowBinary');
    add(`${name}_structure`, structure);
    add(name, bytes, `; filename="${name}"`);
  }
  pieces.push(`--${boundary}--\r\n`);
  return {
    values: Readable.from(pieces, { objectMode: false }),
    http_headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  };
}
