/** A ranking in two parts: the finalized rows in order, and rows that are new or add to them. */
export interface RankedParts<Row, Added> {
  readonly finalized: readonly Row[];
  readonly byKey: ReadonlyMap<string, Row>;
  readonly added: readonly Added[];
}

/** Functions to compare rows and add them up. */
export interface RowRules<Row, Added> {
  readonly keyOf: (row: Row | Added) => string;
  readonly sumOf: (added: Added, finalized: Row | undefined) => Row;
  readonly isShown: (row: Row) => boolean;
  readonly compare: (a: Row, b: Row) => number;
}

/** The requested rows of both parts together, in order. */
export function requestedRows<Row, Added>(
  { finalized, byKey, added }: RankedParts<Row, Added>,
  { keyOf, sumOf, isShown, compare }: RowRules<Row, Added>,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): readonly Row[] {
  const changed = new Set(added.map(keyOf));
  // Unchanged rows keep their order, so the ones after this many cannot be requested.
  const unchanged = finalized
    .slice(0, offset + limit + added.length)
    .filter((row) => !changed.has(keyOf(row)));
  const sums = added.map((row) => sumOf(row, byKey.get(keyOf(row))));
  return [...unchanged, ...sums]
    .filter(isShown)
    .sort(compare)
    .slice(offset, offset + limit);
}
