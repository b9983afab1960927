const JSON_TYPE = 'application/json; charset=UTF-8';
const TEXT_TYPE = 'text/plain; charset=UTF-8';
const BINARY_TYPE = 'application/octet-stream';

/** The Content-Type of a result. */
export function contentType(format: string): string {
  if (/^(TSV|TabSeparated)/.test(format)) return 'text/tab-separated-values; charset=UTF-8';
  if (/^CSV/.test(format))
    return `text/csv; charset=UTF-8; header=${/Names/.test(format) ? 'present' : 'absent'}`;
  if (/^(JSONEachRow|JSONCompactEachRow|JSONStringsEachRow|JSONCompactStringsEachRow)/.test(format))
    return 'application/x-ndjson; charset=UTF-8';
  if (/^JSON/.test(format)) return JSON_TYPE;
  if (format === 'XML') return 'application/xml; charset=UTF-8';
  if (format === 'Markdown') return 'text/markdown; charset=UTF-8';
  if (/^(RowBinary|Native|Parquet|Arrow|ORC|Avro|MsgPack|Protobuf|CapnProto|Npy|RawBLOB|BSON)/.test(format))
    return BINARY_TYPE;
  return TEXT_TYPE;
}

// In these formats every line break ends a row.
const BY_LINE = /^(JSONEachRow|JSONCompactEachRow|TSV|TabSeparated)(WithNames(AndTypes)?)?$/;

/**
 * The number of rows in a whole result, counted from its bytes because the engine does not report it. 0 for formats in
 * which rows cannot be counted.
 */
export function resultRows(format: string, result: Buffer): number {
  const byLine = BY_LINE.exec(format);
  if (byLine !== null) {
    const headLines = byLine[3] !== undefined ? 2 : byLine[2] !== undefined ? 1 : 0;
    return Math.max(0, lineEnds(result) - headLines);
  }
  if (format !== 'JSON' && format !== 'JSONCompact') return 0;
  const tail = result.toString('latin1', Math.max(0, result.length - 400));
  return Number(/"rows": (\d+)/.exec(tail)?.[1] ?? 0);
}

function lineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
}
