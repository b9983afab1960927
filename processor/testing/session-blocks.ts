import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { COLUMN_TYPES } from '../rows.ts';
import type { StoredRow } from './stored-rows.ts';

const PAGE_COLUMNS = ['exitOrigin', 'exitPath', 'entryOrigin', 'entryPath'];
const DICTIONARY_COLUMNS: readonly string[] = [
  'projectId',
  ...PAGE_COLUMNS,
  ...SOURCE_COLUMNS,
  ...ENVIRONMENT_COLUMNS,
];
const KEYS_OF_ITS_OWN = 0x600;

/**
 * Rows of sessions as the store would return them in the format `Native`, in blocks of `blockRows`, with a writer of its own.
 * Columns that the reader does not know come with them.
 */
export function sessionBlocks(rows: readonly StoredRow[], blockRows: number): Buffer {
  const blocks: Buffer[] = [];
  for (let start = 0; start < rows.length; start += blockRows)
    blocks.push(block(rows.slice(start, start + blockRows)));
  return Buffer.concat(blocks);
}

function block(rows: readonly StoredRow[]): Buffer {
  const names = Object.keys(rows[0]?.values ?? {});
  const columns = names.flatMap((name) => {
    const values = rows.map((row) => row.values[name]);
    const type = name === 'revenue' ? 'Map(String, Int64)' : (COLUMN_TYPES[name] ?? 'String');
    return DICTIONARY_COLUMNS.includes(name)
      ? [text(name), text(`LowCardinality(${type})`), dictionary(type, values)]
      : [text(name), text(type), plain(type, values)];
  });
  return Buffer.concat([length(names.length), length(rows.length), ...columns]);
}

/** The same as the store's, with an empty key in front. */
function dictionary(type: string, values: readonly unknown[]): Buffer {
  const keys = [...new Set([type === 'String' ? '' : 0, ...values])];
  const isWide = keys.length > 256;
  const indexes = values.map((value) => keys.indexOf(value as never));
  return Buffer.concat([
    count(1),
    count(KEYS_OF_ITS_OWN + Number(isWide)),
    count(keys.length),
    plain(type, keys),
    count(values.length),
    isWide ? Buffer.from(Uint16Array.from(indexes).buffer) : Buffer.from(indexes),
  ]);
}

function plain(type: string, values: readonly unknown[]): Buffer {
  if (type === 'Map(String, Int64)') return maps(values as readonly (readonly [string, bigint])[][]);
  return Buffer.concat(values.map((value) => encoded(type, value)));
}

function maps(values: readonly (readonly (readonly [string, bigint])[])[]): Buffer {
  let total = 0;
  const ends = values.map((entries) => {
    total += entries.length;
    return count(total);
  });
  const entries = values.flat();
  return Buffer.concat([
    ...ends,
    ...entries.map(([key]) => text(key)),
    ...entries.map(([, value]) => int64(value)),
  ]);
}

function encoded(type: string, value: unknown): Buffer {
  if (type === 'String') return text(String(value));
  if (type === 'FixedString(16)') return Buffer.from(String(value), 'hex');
  if (type.startsWith('DateTime64')) return int64(BigInt(value as number));
  const bytes = Buffer.alloc(4);
  if (type === 'Float32') bytes.writeFloatLE(Number(value));
  else bytes.writeInt32LE(Number(value) | 0);
  const sizes: Readonly<Record<string, number>> = { Int8: 1, UInt8: 1, UInt16: 2, UInt32: 4, Float32: 4 };
  return bytes.subarray(0, sizes[type]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([length(bytes.length), bytes]);
}

/** The value in LEB128. */
function length(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** The value in UInt64. */
function count(value: number): Buffer {
  return int64(BigInt(value));
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}
