import { SESSION_FIELD_LIST } from '../../processor/fields.ts';
import { durationMsOf, isBounce, sessionText, TEXT_FORMS, type TextForm } from '../../processor/figures.ts';
import { byRank } from '../rank-order.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Span } from '../time/range.ts';
import { Grouping, Marks, Scratch } from './marks.ts';
import type { Bound, MemoryStatement } from './memory-statement.ts';
import { type SessionStates, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { PairCodes } from './site-texts.ts';
import { eachSession, rowSpans, spanOf } from './walk.ts';

// Shared, because one computation runs at a time.
const visitorMarks = new Marks();
const visitorGroups = new Grouping();
const visitorNumbers = new Scratch();
const groupNumbers = new Scratch();
const sessionCounts = new Scratch();

/** Sums of a group of sessions. */
class SessionSums {
  sessions = 0;
  pageviews = 0;
  bounces = 0;
  durationMs = 0;
  earned = 0;

  add({ startedAt, endedAt, screenViews }: SessionStates, slot: number): void {
    const views = screenViews[slot] ?? 0;
    this.sessions += 1;
    this.pageviews += views;
    if (isBounce(views)) this.bounces += 1;
    this.durationMs += durationMsOf(startedAt[slot] ?? 0, endedAt[slot] ?? 0);
  }

  get row() {
    const { sessions, pageviews, bounces, durationMs } = this;
    return { sessions, pageviews, bounces, durationMs, revenue: String(this.earned) };
  }
}

/** Sessions that fit and began in the span, grouped by two of their words. */
interface SessionGroups {
  /** The two words of each group. Without a column for `prefix`, the first is the empty text. */
  readonly words: PairCodes;
  readonly sums: readonly SessionSums[];
  /** Calls `visit` once for each visitor of a group. Valid until the next computation. */
  readonly eachVisitor: (group: number, visit: (visitor: number) => void) => void;
}

function sessionsBy(
  view: SiteView,
  spans: readonly Span[],
  { bound, fits }: MemoryStatement,
  { outer, inner, partOf }: RankedWords,
): SessionGroups {
  const words = new PairCodes();
  const sums: SessionSums[] = [];
  const { sessions: states } = view;
  const [outerWords, innerWords] = [states.words[outer], states.words[inner]];
  const groupedBy = partOf && firstOfPart(view, partOf);
  const visitors = visitorNumbers.take(states.length);
  const groupOf = groupNumbers.take(states.length);
  let sessions = 0;
  const take = (slot: number) => {
    if (!fits(slot)) return;
    const code = innerWords?.[slot] ?? 0;
    const group = words.codeOf(outerWords?.[slot] ?? 0, groupedBy?.(code) ?? code);
    let sum = sums[group];
    if (sum === undefined) {
      sum = new SessionSums();
      sums.push(sum);
    }
    sum.add(states, slot);
    if (states.revenue.size > 0) sum.earned += states.revenue.get(slot)?.get(bound.currency ?? '') ?? 0;
    visitors[sessions] = states.visitor[slot] ?? 0;
    groupOf[sessions] = group;
    sessions += 1;
  };
  for (const span of spans) eachSession(view, span, take);
  const visitorsOf = visitorGroups.sort(visitors.subarray(0, sessions), groupOf, sums.length);
  const eachVisitor = (group: number, visit: (visitor: number) => void) => {
    visitorMarks.clear(view.texts.visitors.size);
    for (const visitor of visitorsOf(group)) if (visitor !== 0 && visitorMarks.isNew(visitor)) visit(visitor);
  };
  return { words, sums, eachVisitor };
}

/** The groups with at least as many sessions as the last requested one, unordered. The answer needs no other. */
export function requestedGroups(sessions: Int32Array, { limit = 0, offset = 0 }: Bound): readonly number[] {
  const place = Math.max(offset + limit, 1);
  const sorted = sessions.slice().sort();
  const least = sorted[Math.max(0, sorted.length - place)] ?? 0;
  const groups: number[] = [];
  for (let group = 0; group < sessions.length; group += 1)
    if ((sessions[group] ?? 0) >= least) groups.push(group);
  return groups;
}

/** Two columns by their index, and the part of the inner one's text that names a group; all of it when absent. */
interface RankedWords {
  readonly outer: number;
  readonly inner: number;
  readonly partOf?: TextForm['of'];
}

/** The parts of columns, by their text in statements. */
const PARTS: ReadonlyMap<string, RankedWords> = new Map(
  SESSION_FIELD_LIST.flatMap(([, field]) =>
    field.form === undefined || field.column === undefined
      ? []
      : [[sessionText(field), { outer: -1, inner: wordOf(field.column), partOf: TEXT_FORMS[field.form].of }]],
  ),
);

/** The two columns in the text `<parent or ''> AS prefix, <column> AS name`; undefined if one is not held. */
function rankedWords({ columns }: MemoryStatement): RankedWords | undefined {
  const [prefix = '', named = ''] = columns.split(' AS prefix, ');
  const column = named.replace(/ AS name$/, '');
  const part = PARTS.get(column);
  if (part !== undefined) return prefix === "''" ? part : undefined;
  const [outer, inner] = [wordOf(prefix), wordOf(column)];
  return inner === -1 || (outer === -1 && prefix !== "''") ? undefined : { outer, inner };
}

/** By code of a text, the first code whose text has the same part. */
function firstOfPart({ texts }: SiteView, partOf: TextForm['of']): (code: number) => number {
  const firsts = new Map<string, number>();
  const known = new Map<number, number>();
  return (code) => {
    const found = known.get(code);
    if (found !== undefined) return found;
    const part = partOf(texts.words.textOf(code));
    const first = firsts.get(part) ?? code;
    firsts.set(part, first);
    known.set(code, first);
    return first;
  };
}

/** `ranking-rows` */
export function rankingRows(
  view: SiteView,
  statement: MemoryStatement,
): AnswerRow<'ranking-rows'>[] | undefined {
  const columns = rankedWords(statement);
  if (columns === undefined) return undefined;
  const { words, sums, eachVisitor } = sessionsBy(view, rowSpans(statement.bound), statement, columns);
  return sums.map((sum, group) => {
    const visitorHashes: number[] = [];
    eachVisitor(group, (visitor) => visitorHashes.push(view.hashes.ofVisitor(visitor)));
    return { ...namesOf(view, words, group, columns), ...sum.row, visitorHashes };
  });
}

/** `breakdown` and `entry-exit`: the requested rows, and the rows before them. */
export function rankedSessions(
  view: SiteView,
  statement: MemoryStatement,
): AnswerRow<'breakdown'>[] | undefined {
  const columns = rankedWords(statement);
  if (columns === undefined) return undefined;
  const spans = [spanOf(statement.bound)];
  const { words, sums, eachVisitor } = sessionsBy(view, spans, statement, columns);
  const sessions = sessionCounts.take(sums.length);
  sums.forEach((sum, group) => {
    sessions[group] = sum.sessions;
  });
  const rows = requestedGroups(sessions, statement.bound).flatMap((group) => {
    const sum = sums[group];
    let visitors = 0;
    eachVisitor(group, () => {
      visitors += 1;
    });
    return sum === undefined ? [] : { ...namesOf(view, words, group, columns), ...sum.row, visitors };
  });
  return rows.sort(byRank);
}

function namesOf({ texts }: SiteView, words: PairCodes, group: number, { partOf }: RankedWords) {
  const [prefix = '', name = ''] = [words.firstOf(group), words.secondOf(group)].map((word) =>
    texts.words.textOf(word),
  );
  return { prefix, name: partOf === undefined ? name : partOf(name) };
}
