/**
 * A page ends by its size as well as by its rows, since a site's senders decide how large a row is. Sizes are characters of JSON, roughly: they
 * cost a tenth of encoding.
 *
 *     rows that are read      ├───────────────────────────────┤  until twice the size, by untilMoreThanPage
 *     rows that are answered  ├───────────────┤                  up to the row reaching it, by pageWithin
 *
 * An answered row holds every text of the row as read, so a page never reaches the end of the rows read.
 */
export const PAGE_CHARS_MAX = 4_194_304;

/** Approximate length of a value as JSON. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 2;
  if (Array.isArray(value)) for (const one of value) size += sizeOf(one);
  else for (const [key, one] of Object.entries(value)) size += key.length + 4 + sizeOf(one);
  return size;
}

/** The first rows up to the one that reaches the size of a page; at least one. */
export function pageWithin<Row>(rows: readonly Row[], charsMax: number = PAGE_CHARS_MAX): Row[] {
  let chars = 0;
  const end = rows.findIndex((row) => {
    chars += sizeOf(row);
    return chars >= charsMax;
  });
  return end === -1 ? [...rows] : rows.slice(0, end + 1);
}

/** True if more rows may follow a page: it has its `limit`, or reached the size of a page. */
export function isFullPage(page: readonly unknown[], limit: number): boolean {
  return page.length >= limit || hasSizeOfPage(page);
}

/** True if rows reach the size of a page. */
export function hasSizeOfPage(rows: readonly unknown[]): boolean {
  let chars = 0;
  return rows.some((row) => {
    chars += sizeOf(row);
    return chars >= PAGE_CHARS_MAX;
  });
}

/** Ends the reading of a page's rows. */
export function untilMoreThanPage<Row>(): (row: Row) => boolean {
  let chars = 0;
  return (row) => {
    chars += sizeOf(row);
    return chars >= 2 * PAGE_CHARS_MAX;
  };
}
