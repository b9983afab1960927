import { type FilteredScene, heldEvents } from '../../filters/testing/filtered.ts';
import type { Span } from '../../time/range.ts';
import type { UserFlowQuery } from '../user-flow-api.ts';
import { inOrder } from './journeys.ts';

/** A flow as a test requests it. */
export type AskedFlow = Pick<UserFlowQuery, 'by' | 'direction' | 'depth' | 'limit'> & {
  readonly start?: string | undefined;
  readonly filters: Parameters<typeof heldEvents>[0];
};

/** Counts the links of all sessions by name: session by session, column by column. */
export function slowFlow(
  { by, direction, depth, limit, start, filters }: AskedFlow,
  scene: FilteredScene,
  span: Span,
): { readonly nodes: Record<string, number>; readonly links: Record<string, number> } {
  const sessions = new Map<string, string[]>();
  for (const { sessionId, name, path, atMs } of inOrder(heldEvents(filters, scene))) {
    const isNode =
      by === 'pages' ? name === 'screen_view' : name !== 'session_start' && name !== 'session_end';
    if (!isNode || sessionId === '' || atMs < span.fromMs || atMs >= span.toMs) continue;
    const value = by === 'pages' ? path : name;
    const values = sessions.get(sessionId) ?? [];
    if (values.at(-1) !== value) sessions.set(sessionId, [...values, value]);
  }
  const flows: string[][] = [];
  for (const values of sessions.values()) {
    const visited = direction === 'backward' ? [...values].reverse() : values;
    const from = start === undefined ? 0 : visited.indexOf(start);
    if (from >= 0) flows.push(visited.slice(from));
  }
  const named = Array.from({ length: depth + 1 }, (_, column) => greatest(flows, column, limit));
  const idOf = (flow: readonly string[], column: number) => {
    const value = flow[column];
    if (value === undefined) return `${column}:exit`;
    return named[column]?.includes(value) === true ? `${column}:value:${value}` : `${column}:other`;
  };
  const nodes: Record<string, number> = {};
  const links: Record<string, number> = {};
  const count = (counts: Record<string, number>, id: string) => {
    counts[id] = (counts[id] ?? 0) + 1;
  };
  for (const flow of flows) {
    for (let column = 0; column <= Math.min(depth, flow.length); column += 1) {
      count(nodes, idOf(flow, column));
      if (column > 0) count(links, `${idOf(flow, column - 1)} to ${idOf(flow, column)}`);
    }
  }
  return { nodes, links };
}

function greatest(flows: readonly (readonly string[])[], column: number, limit: number): string[] {
  const counts = new Map<string, number>();
  for (const flow of flows) {
    const value = flow[column];
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, ofA], [b, ofB]) => ofB - ofA || Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .slice(0, limit)
    .map(([value]) => value);
}
