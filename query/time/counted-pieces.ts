import { edgesOf, holdsPage, type Page, sectionEdgesOf, sectionsOf } from './page-span.ts';
import type { Span } from './range.ts';

/** A part of a span, and the number of rows in its pieces. Edges are as in `edgesOf`, but some pieces may be wider. */
export interface CountedPieces {
  readonly span: Span;
  readonly edges: readonly number[];
  readonly rowsByEdge: ReadonlyMap<number, number>;
}

/** Counts the rows of pieces that begin at `edges` and fill a span. Pieces without rows may be left out. */
export type CountPieces = (
  span: Span,
  edges: readonly number[],
) => Promise<readonly (readonly [edge: number, rows: number])[]>;

/**
 * Counts a span section by section, from its newest end, until the pieces certainly hold the page. No row is counted
 * twice, and none if the page lies outside of the span.
 */
export async function countFromNewest(
  span: Span,
  page: Page,
  nowMs: number,
  count: CountPieces,
): Promise<CountedPieces> {
  let counted: CountedPieces = {
    span: { fromMs: span.toMs, toMs: span.toMs },
    edges: [],
    rowsByEdge: new Map(),
  };
  for (const section of sectionsOf(span, page.cursor, nowMs)) {
    const edges = sectionEdgesOf(section, nowMs);
    const rows = await count(section, edges);
    const toMs = counted.edges.length === 0 ? section.toMs : counted.span.toMs;
    counted = {
      span: { fromMs: section.fromMs, toMs },
      edges: [...edges, ...counted.edges],
      rowsByEdge: new Map([...counted.rowsByEdge, ...rows]),
    };
    if (holdsPage(counted.edges, counted.rowsByEdge, page)) return counted;
  }
  return counted;
}

/** Counts all pieces of a span. */
export async function countAll(span: Span, count: CountPieces): Promise<CountedPieces> {
  const edges = edgesOf(span);
  return { span, edges, rowsByEdge: new Map(await count(span, edges)) };
}
