import { createHash } from 'node:crypto';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { Filter } from '../filters/filter.ts';
import { areAboutEntries, insightConditions } from '../filters/insight-conditions.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { StatementName } from '../sql/answer-rows.ts';
import type { Range, Span } from '../time/range.ts';
import { Otherwise } from '../ways.ts';
import type { FilteredMetricsParts, QuestionParts, VisitParts } from './question-parts.ts';
import { type FinalizedBlocks, finalizedBeginning } from './rollup-spans.ts';

/** The columns of a ranking of entry pages. */
export const ENTRY_PAGES = 'entryOrigin AS prefix, entryPath AS name';

/**
 * A question with filters on the beginning of sessions, in two parts: up to some hour everything is finalized, and the
 * rest. The first part is cached, with everything known about its visitors. A change of a session's beginning or
 * visitor marks all hours of its events (`processor/fold`), so this part never changes under its key.
 *
 *     span         from               until              to
 *     finalized    ├────── cached ──────┤
 *     the rest                          ├── its visitors ─┤      which of them are in the cached part?
 */
export interface FilteredQuestion {
  /** The site's `storedId`. */
  readonly projectId: StoredId;
  readonly filters: readonly Filter[];
  /** Bound by the statements of both parts, besides their span. */
  readonly parameters: StoreParameters;
}

/** Binds a statement over a span and, if there is one, the span before it. */
type Bind = <Name extends StatementName>(
  name: Name,
  span: Span,
  more?: StoreParameters,
  previous?: Span,
) => Statement<Name>;

/** `metrics` of a range. Like the functions below, none when nothing is finalized, or when other filters are set. */
export function metricsParts(
  question: FilteredQuestion,
  { span, previous }: Pick<Range, 'span' | 'previous'>,
  blocks: FinalizedBlocks | Otherwise,
): FilteredMetricsParts | Otherwise {
  const beginning = finalizedBeginning(blocks, previous);
  const before = beginning instanceof Otherwise ? undefined : beginning;
  if (previous.toMs > previous.fromMs && before?.untilMs !== previous.toMs)
    return beginning instanceof Otherwise ? beginning : new Otherwise('not-finalized');
  const parts = cut(question, span, blocks);
  if (parts instanceof Otherwise) return parts;
  const { bind, until, keyOf } = parts;
  const edges = question.parameters.edges as readonly number[];
  // Only the bucket at the end of the finalized part has visitors of both parts.
  const openEdge = edges.findLast((edge) => edge <= until.toMs) ?? span.fromMs;
  return {
    key: keyOf('metrics', before?.key, edges),
    finalized: bind('metrics-filtered', until, {}, previous),
    rows: bind('metrics-filtered-visitors', parts.rest),
    members: bind('metrics-filtered-visitors', until, {
      edges: [...new Set([span.fromMs, Math.max(openEdge, span.fromMs)])],
      isAsked: 1,
    }),
  };
}

/** `active_users` of a span. */
export function activeUsersFilteredParts(
  question: FilteredQuestion,
  span: Span,
  blocks: FinalizedBlocks | Otherwise,
): VisitParts | Otherwise {
  const parts = cut(question, span, blocks);
  if (parts instanceof Otherwise) return parts;
  const { bind, until, rest, keyOf } = parts;
  return {
    key: keyOf('active-users', question.parameters.edges),
    finalized: bind('active-users-filtered', until),
    rows: bind('metrics-filtered-visitors', rest),
    members: bind('active-users-filtered-members', until, { isAsked: 1 }),
  };
}

/** The parts of `pages`. */
export interface FilteredPagesParts
  extends QuestionParts<'pages-filtered-counted', 'pages-filtered-rows', 'pages-filtered-members'> {
  /** Sessions that began in each part, by entry page. */
  readonly finalizedEntered: Statement<'ranking-finalized'>;
  readonly entered: Statement<'ranking-rows'>;
}

/** @param most maximum number of pages in a part's answer */
export function pagesParts(
  question: FilteredQuestion,
  span: Span,
  blocks: FinalizedBlocks | Otherwise,
  most: number,
): FilteredPagesParts | Otherwise {
  const parts = cut(question, span, blocks);
  if (parts instanceof Otherwise) return parts;
  const { bind, until, rest, keyOf } = parts;
  const rowHours: number[] = [];
  for (let ms = Math.floor(rest.fromMs / HOUR_MS) * HOUR_MS; ms < rest.toMs; ms += HOUR_MS)
    rowHours.push(ms / 1000);
  const byEntryPage = <Name extends StatementName>(statement: Statement<Name>): Statement<Name> => ({
    ...statement,
    texts: { ...statement.texts, columns: ENTRY_PAGES },
  });
  return {
    key: keyOf('pages', question.parameters.currency),
    finalized: bind('pages-filtered-counted', until, { most }),
    finalizedEntered: byEntryPage(bind('ranking-finalized', until, { most, rowHours: [] })),
    rows: bind('pages-filtered-rows', rest),
    entered: byEntryPage(bind('ranking-rows', rest, { rowHours })),
    members: bind('pages-filtered-members', until),
  };
}

/** Parameters of statements with filters on sessions that count the visitors of the whole span. */
export function passingParameters(span: Span, previous: Span = { fromMs: span.fromMs, toMs: span.fromMs }) {
  return {
    from: span.fromMs,
    to: span.toMs,
    previousFrom: previous.fromMs,
    previousTo: previous.toMs,
    earliest: Math.min(span.fromMs, previous.fromMs),
    isAsked: 0,
    asked: [],
  };
}

function cut(
  { projectId, filters, parameters }: FilteredQuestion,
  span: Span,
  blocks: FinalizedBlocks | Otherwise,
) {
  if (filters.length === 0 || !areAboutEntries(filters)) return new Otherwise('filters');
  const beginning = finalizedBeginning(blocks, span);
  if (beginning instanceof Otherwise) return beginning;
  const until = { fromMs: span.fromMs, toMs: beginning.untilMs };
  const bind: Bind = (name, part, more = {}, previous = undefined) => {
    const spans = previous === undefined ? { span: part } : { span: part, previous };
    const { parameters: filterValues, ...texts } = insightConditions(filters, spans);
    const spanValues = passingParameters(part, previous);
    const bound = { ...parameters, ...filterValues, ...spanValues, ...more, site: projectId };
    const why = part === until ? 'finalized' : 'not-finalized';
    return { name, parameters: bound, texts, filters, why };
  };
  return {
    bind,
    until,
    rest: { fromMs: beginning.untilMs, toMs: span.toMs },
    keyOf: (...about: readonly unknown[]) => {
      const hash = createHash('sha256').update(JSON.stringify([about, beginning.key, filters]));
      return `${projectId} ${hash.digest('base64')}`;
    },
  };
}
