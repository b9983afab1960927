/**
 * Rows as CSV (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe before it, also behind a semicolon or
 * tab, where some spreadsheets begin a cell.
 */
export function commaText(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(fieldText).join(',')}\r\n`).join('');
}

function fieldText(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const within = value.replace(/([;\t\r\n]"*)([=+\-@])/g, "$1'$2");
  const safe = /^[=+\-@\t\r\n]/.test(within) ? `'${within}` : within;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
