/** Edges of a directed graph by their start, then by their end. */
export type Graph<Edge> = ReadonlyMap<string, ReadonlyMap<string, Edge>>;

/**
 * The edges that close a cycle, each with the nodes of the cycle. Depth-first search: an edge to an open node closes a
 * cycle, so each is found once.
 */
export function cyclesIn<Edge>(graph: Graph<Edge>): { readonly edge: Edge; readonly nodes: string }[] {
  const found: { edge: Edge; nodes: string }[] = [];
  const done = new Set<string>();
  const open: string[] = [];
  const visit = (node: string) => {
    open.push(node);
    for (const [target, edge] of graph.get(node) ?? []) {
      if (open.includes(target)) {
        found.push({ edge, nodes: [...open.slice(open.indexOf(target)), target].join(' → ') });
      } else if (!done.has(target)) visit(target);
    }
    open.pop();
    done.add(node);
  };
  for (const node of graph.keys()) if (!done.has(node)) visit(node);
  return found;
}

/** Adds an edge unless there is one between the two nodes. */
export function addEdge<Edge>(
  graph: Map<string, Map<string, Edge>>,
  [from, to]: readonly [from: string, to: string],
  edge: Edge,
): void {
  const edges = graph.get(from) ?? new Map<string, Edge>();
  if (!edges.has(to)) edges.set(to, edge);
  graph.set(from, edges);
}
