import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { byBytes } from '../rank-order.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { type UserFlowAnswer, type UserFlowQuery, userFlowAnswer, userFlowQuery } from './user-flow-api.ts';

const DESCRIPTION = [
  'Returns where sessions go, column by column, for a Sankey diagram. The flow of a session is its paths or event names in the range, by time and then by id. Equal values that follow each other count as one, so that a reload is no step. A value that comes back later is a node of the later column, so the diagram has no cycles.',
  'Each session counts once: from its first `start` on, or backward from its last `start`, or without `start` from its first value in the range, or backward from its last one. Column 0 has what the flow begins with, and column n what comes n steps later; backward, n steps earlier. Links lead from a column to the next one. A session that has no further value goes to the exit node of the next column. The last column is not followed further: its sessions have no links.',
  'So the links of every node of a column before the last one, exits included, add up to its sessions, and so do the links to every node. Events without a session do not count. Filters on source, environment and facts of sessions apply to the session; all others leave out the events that do not match.',
].join('\n\n');

type FlowNode = UserFlowAnswer['nodes'][number];

/** The sessions of one link, as `sql/user-flow.sql` answers. */
type LinkRow = AnswerRow<'user-flow'>;

/** `GET /insights/{projectId}/user_flow` */
export function userFlowInsight(sources: SeamSources): Insight<UserFlowQuery, UserFlowAnswer> {
  return {
    path: 'user_flow',
    about: { summary: 'Where sessions go, step by step', description: DESCRIPTION, answer: userFlowAnswer },
    schema: userFlowQuery,
    answer: (scope, query) => answerUserFlow(sources, scope, query),
  };
}

/** The nodes and links between the pages or events of sessions. */
export async function answerUserFlow(
  sources: SeamSources,
  scope: QuestionScope,
  query: UserFlowQuery,
): Promise<UserFlowAnswer> {
  const { span } = requestedRange(query, scope);
  const { filters, by, start, direction, depth, limit } = query;
  const { parameters, ...conditions } = insightConditions(filters, { span });
  const seam = await openSeam(sources, scope, query);
  const bound = {
    ...parameters,
    site: scope.site.storedId,
    from: span.fromMs,
    to: span.toMs,
    isByPages: by === 'pages' ? 1 : 0,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
    hasStart: start === undefined ? 0 : 1,
    start: start ?? '',
    isBackward: direction === 'backward' ? 1 : 0,
    depth,
    limit,
  };
  const texts = { ...conditions, columns: by === 'pages' ? 'path' : "CAST(name, 'String')" };
  const rows = await sources.history.ask({ name: 'user-flow', parameters: bound, texts, filters }, seam);
  return { ...flowOf(rows), ...(seam.partial ? { partial: true as const } : {}) };
}

function flowOf(rows: readonly LinkRow[]): Omit<UserFlowAnswer, 'partial'> {
  const nodes = new Map<string, FlowNode>();
  const linked = rows.map((row) => {
    const { column, sessions } = row;
    const source = nodeOf({ column, value: row.fromValue, isOther: row.isFromOther === 1, isExit: false });
    const target = nodeOf({
      column: column + 1,
      value: row.toValue,
      isOther: row.isToOther === 1,
      isExit: row.isExit === 1,
    });
    // The sessions of all other columns are counted where they arrive.
    if (column === 0) addTo(nodes, source, sessions);
    addTo(nodes, target, sessions);
    return { source: source.id, target: target.id, sessions };
  });
  const ordered = [...nodes.values()].sort(byPlace);
  const places = new Map(ordered.map(({ id }, place) => [id, place]));
  const placeOf = (id: string) => places.get(id) ?? 0;
  return {
    nodes: ordered,
    links: linked.sort(
      (a, b) => placeOf(a.source) - placeOf(b.source) || placeOf(a.target) - placeOf(b.target),
    ),
    sessions: ordered.reduce((sum, { column, sessions }) => sum + (column === 0 ? sessions : 0), 0),
  };
}

function nodeOf(place: {
  readonly column: number;
  readonly value: string;
  readonly isOther: boolean;
  readonly isExit: boolean;
}): FlowNode {
  const { column, value, isOther, isExit } = place;
  const kind = isExit ? 'exit' : isOther ? 'other' : undefined;
  return {
    id: kind === undefined ? `${column}:value:${value}` : `${column}:${kind}`,
    column,
    value: kind === undefined ? value : null,
    sessions: 0,
    isOther,
    isExit,
  };
}

function addTo(nodes: Map<string, FlowNode>, node: FlowNode, sessions: number): void {
  const known = nodes.get(node.id) ?? node;
  nodes.set(node.id, { ...known, sessions: known.sessions + sessions });
}

function byPlace(a: FlowNode, b: FlowNode): number {
  return (
    a.column - b.column ||
    Number(a.isExit) - Number(b.isExit) ||
    Number(a.isOther) - Number(b.isOther) ||
    b.sessions - a.sessions ||
    byBytes(a.value ?? '', b.value ?? '')
  );
}
