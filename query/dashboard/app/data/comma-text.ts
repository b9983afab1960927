/** Rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe before it. */
export function commaText(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(fieldText).join(',')}\r\n`).join('');
}

function fieldText(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
