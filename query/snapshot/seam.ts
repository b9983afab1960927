import { structureOf } from '../../processor/rows.ts';
import type { HotAnswers } from './hot-view.ts';

/**
 * The seam between history and what is hot. One statement reads both:
 *
 *     flush          1   2   3   4 │ 5   6
 *     events         ──history────▶│◀─hot─       cut at the flush that the owner knew to be complete
 *
 *     session        hot rows?
 *     A              none            ──history──▶ all that the store has
 *     B              of 5 and 6      ──hot──────▶ the newest state, nothing from the store
 *
 * Events are only ever added, so the store's rows of flushes 1 to 4 are the same whenever they are read, and the hot
 * rows are all those of 5 and 6, though 5 may be in the store by then: every event is on exactly one side.
 *
 * Sessions are replaced by pairs of -1 and +1 rows, which the store drops together when it merges. Once flush 5 took a
 * state of flush 3 away, the state of flush 4 cannot be read any more, so they cannot be cut like events. But each flush
 * brings every session that it changes whole: of a session that 5 or 6 changed, the newest hot row is all there is to
 * know, and of any other the store has all, whether 5 is there or not. So every session is on exactly one side, whatever
 * lands or merges meanwhile. A flush is one part of the table and becomes visible as one, so a session that a still later
 * flush changes is read as it was or as it is, and never as both or neither.
 *
 * There is another way, which lists and statements over summed hours go: to take every row that the store has, to learn
 * from the marker rows of the same scan that flush 5 is among them, and to add only the hot rows of later flushes. It costs
 * a look at all sums together, and shows of a session also what a flush brought after the owner was asked. History and
 * marker must come from one scan of one table then: two subqueries may see two states of it.
 */
export interface Seam {
  /** Of each partition, the flush up to which events are history. */
  readonly flushed: readonly number[];
  readonly eventsHex: string;
  readonly sessionsHex: string;
  /** The hours that the hot rows lie in, in milliseconds since 1970. */
  readonly hotHours: ReadonlySet<number>;
  /** True when a partition's owner was away: then its hot rows are not there. */
  readonly partial: boolean;
}

/** For statements that read no events and no sessions. */
export const NO_SEAM: Seam = {
  flushed: [],
  eventsHex: '',
  sessionsHex: '',
  hotHours: new Set(),
  partial: false,
};

/** Without an owner's word, all that the store has is history. */
const EVERY_FLUSH = 4_294_967_295;
const HOT_EVENTS = '$HOT_EVENTS$';
const HOT_SESSIONS = '$HOT_SESSIONS$';
/** The newest state of each hot session of the site. */
const HOT_STATES = '$HOT_STATES$';
const NEWEST_STATES = `(
    SELECT *
    FROM ${HOT_SESSIONS}
    WHERE projectId = {site:String} AND sign > 0
    ORDER BY version DESC
    LIMIT 1 BY id
)`;

/** Makes the seam from the answers to a question for rows. */
export function seamOf({ answers, away }: HotAnswers): Seam {
  const flushed: number[] = [];
  let eventsHex = '';
  let sessionsHex = '';
  const hotHours = new Set<number>();
  for (const answer of answers) {
    if (answer?.head.kind !== 'rows') {
      flushed.push(EVERY_FLUSH);
      continue;
    }
    flushed.push(answer.head.flushNumber);
    for (const hour of answer.head.hours) hotHours.add(hour);
    eventsHex += hexOf(answer.events);
    sessionsHex += hexOf(answer.sessions);
  }
  return { flushed, eventsHex, sessionsHex, hotHours, partial: away.length > 0 };
}

/** Puts the hot rows into a statement of `sql/`. Nothing but digits gets into its text, so nothing can be spliced. */
export function withHotRows(sql: string, seam: Seam): string {
  return sql
    .replaceAll(HOT_STATES, () => NEWEST_STATES)
    .replaceAll(HOT_EVENTS, () => rowsOf('events', seam.eventsHex))
    .replaceAll(HOT_SESSIONS, () => rowsOf('sessions', seam.sessionsHex));
}

function rowsOf(table: 'events' | 'sessions', hex: string): string {
  const structure = structureOf(table).replaceAll("'", "\\'");
  // The engine refuses to read a format from no bytes at all.
  if (hex === '') return `null('${structure}')`;
  return `format(RowBinary, '${structure}', unhex('${hex}'))`;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
