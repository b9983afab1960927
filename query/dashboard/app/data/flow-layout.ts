import type { UserFlowAnswer } from '../../../paths/user-flow-api.ts';

type LaidNode = UserFlowAnswer['nodes'][number];
type FlowLink = UserFlowAnswer['links'][number];

/** Sizes of a diagram, in its own units. */
export interface FlowSizes {
  /** From the left edge of one column to the left edge of the next. */
  readonly columnWidth: number;
  readonly nodeWidth: number;
  /** Height of all sessions of a column, without the gaps between its nodes. */
  readonly height: number;
  readonly gap: number;
  /** A node or link is never thinner, so that it can be seen. */
  readonly leastHeight: number;
}

export interface PlacedNode {
  readonly node: LaidNode;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

/** A band from the right edge of one node to the left edge of another. */
export interface PlacedLink {
  readonly link: FlowLink;
  readonly from: LaidNode;
  readonly to: LaidNode;
  /** The filled SVG path. */
  readonly outline: string;
}

export interface FlowDiagram {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
}

/**
 * Places nodes in columns from the top, in the order of the answer, with a height by their share of all sessions. Links leave and
 * enter a node in the order of the nodes at their other ends, so links of one node do not cross.
 */
export function flowLayout({ nodes, links, sessions }: UserFlowAnswer, sizes: FlowSizes): FlowDiagram {
  const { columnWidth, nodeWidth, height, gap, leastHeight } = sizes;
  const heightOf = (count: number) => Math.max(leastHeight, (height * count) / Math.max(1, sessions));
  const ends = new Map<number, number>();
  const placed = new Map<string, PlacedNode>();
  for (const node of nodes) {
    const y = ends.get(node.column) ?? 0;
    const own = heightOf(node.sessions);
    ends.set(node.column, y + own + gap);
    placed.set(node.id, { node, x: node.column * columnWidth, y, height: own });
  }
  const left = new Map<string, number>();
  const entered = new Map<string, number>();
  const bands = links.flatMap((link): PlacedLink[] => {
    const [source, target] = [placed.get(link.source), placed.get(link.target)];
    if (source === undefined || target === undefined) return [];
    const thickness = heightOf(link.sessions);
    const startY = source.y + (left.get(link.source) ?? 0);
    const endY = target.y + (entered.get(link.target) ?? 0);
    left.set(link.source, startY - source.y + thickness);
    entered.set(link.target, endY - target.y + thickness);
    const outline = band({ x: source.x + nodeWidth, y: startY }, { x: target.x, y: endY }, thickness);
    return [{ link, from: source.node, to: target.node, outline }];
  });
  const columns = Math.max(0, ...nodes.map(({ column }) => column)) + 1;
  return {
    width: (columns - 1) * columnWidth + columnWidth,
    height: Math.max(0, ...[...ends.values()].map((end) => end - gap)),
    nodes: [...placed.values()],
    links: bands,
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function band(start: Point, end: Point, thickness: number): string {
  const middle = (start.x + end.x) / 2;
  const upper = `M${start.x},${start.y} C${middle},${start.y} ${middle},${end.y} ${end.x},${end.y}`;
  const lower = `L${end.x},${end.y + thickness} C${middle},${end.y + thickness} ${middle},${start.y + thickness} ${start.x},${start.y + thickness}`;
  return `${upper} ${lower} Z`;
}
