import { must } from '../../infra/assert.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { COLUMN_TYPES, EVENTS_COLUMNS, SESSIONS_COLUMNS } from '../../processor/rows.ts';

const BYTES_MAX = 67_108_864;

export type EventColumn = (typeof EVENTS_COLUMNS)[number];
export type SessionColumn = (typeof SESSIONS_COLUMNS)[number];
export type Row<Column extends string> = Partial<
  Readonly<Record<Column, string | number | bigint | readonly string[]>>
>;

/** Rows as RowBinary. A missing column has the zero of its type. */
export function eventBytes(rows: readonly Row<EventColumn>[]): Uint8Array {
  return bytesOf(EVENTS_COLUMNS, rows);
}

/** The same for sessions; `revenue` stays empty. */
export function sessionBytes(rows: readonly Row<SessionColumn>[]): Uint8Array {
  return bytesOf(SESSIONS_COLUMNS, rows);
}

function bytesOf<Column extends string>(
  columns: readonly Column[],
  rows: readonly Row<Column>[],
): Uint8Array {
  const writer = new RowBinaryWriter(BYTES_MAX);
  const isSession = columns.some((column) => column === 'sign');
  for (const row of rows) {
    for (const column of columns) {
      const type = isSession && column === 'revenue' ? 'Map(String, String)' : COLUMN_TYPES[column];
      must(WRITERS[type ?? 'String'], `no writer of ${type}`)(writer, row[column]);
    }
  }
  return writer.take();
}

type ColumnValue = string | number | bigint | readonly string[] | undefined;

const WRITERS: Readonly<Record<string, (writer: RowBinaryWriter, value: ColumnValue) => void>> = {
  Int8: (writer, value) => writer.i8(Number(value ?? 0)),
  UInt8: (writer, value) => writer.u8(Number(value ?? 0)),
  UInt16: (writer, value) => writer.u16(Number(value ?? 0)),
  UInt32: (writer, value) => writer.u32(Number(value ?? 0)),
  Int64: (writer, value) => writer.i64(typeof value === 'bigint' ? value : BigInt(Number(value ?? 0))),
  Float32: (writer, value) => writer.f32(Number(value ?? 0)),
  String: (writer, value) => writer.string(String(value ?? '')),
  'FixedString(16)': (writer, value) => writer.hex(String(value ?? '').padStart(32, '0')),
  'Array(String)': (writer, value) => writer.stringArray(Array.isArray(value) ? value : []),
  'Map(String, String)': (writer, value) => writer.stringMap(Array.isArray(value) ? value : []),
  "DateTime64(3, 'UTC')": (writer, value) => writer.dateTime64Ms(Number(value ?? 0)),
};
