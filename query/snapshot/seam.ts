import { LANES_MAX } from '../../infra/process/service-lanes.ts';
import type { StatementTable } from '../../infra/store/statement-form.ts';
import type { Store } from '../../infra/store/store.ts';
import { EVERY_FLUSH, unionStructureOf } from '../../processor/rows.ts';
import type { HotRows } from '../held-rows/hot-rows.ts';
import {
  END_HOT,
  HOT_EVENTS,
  HOT_SESSIONS,
  IF_HOT,
  READS_HOT_ROWS,
  withHotStates,
} from '../sql/relations.ts';
import type { HotAnswers } from './hot-view.ts';

/**
 * The seam between history and hot rows. One statement reads both:
 *
 *     flush          1   2   3   4 │ 5   6
 *     events         ──history────▶│◀─hot─       cut at the last flush that the owner knew to be complete, or at an earlier
 *                                                one that a process has in memory, if the owner has the rows of all later ones
 *
 *     session        hot rows?
 *     A              none            ──history──▶ everything in the store
 *     B              of 5 and 6      ──hot──────▶ the newest state, nothing from the store
 *
 * Events are only ever added. So the store's rows of flushes 1 to 4 never change, and the hot rows are all rows of 5
 * and 6, even if 5 is in the store by then: every event is on exactly one side.
 *
 * Sessions are replaced by pairs of -1 and +1 rows, and the store drops both when it merges. Once flush 5 has cancelled
 * a state of flush 3, the state as of flush 4 is gone, so sessions cannot be cut like events. But each flush writes the
 * whole state of every changed session. If 5 or 6 changed a session, its newest hot row is the whole state. For any
 * other session the store has it, with or without flush 5. So every session is on exactly one side, whatever lands or
 * merges meanwhile. A flush becomes visible as one part of the table: a session in a later flush is read in its old or
 * its new state, never in both or neither.
 *
 * Lists of sessions, and the statements of `metrics` and `pages` over rollups, do it differently. They read every row
 * in the store, learn from the marker rows of the same scan whether flush 5 is among them, and add only the hot rows of
 * later flushes. This costs a window over all grouped rows, and a session then also shows flushes after the owner's
 * answer. History and markers must come from one scan of one table: two subqueries may see two states of it.
 */
export interface Seam {
  /** By lane, the last flush whose events are history. */
  readonly flushed: readonly number[];
  /** By lane, the last flush that the owner knew to be complete. Later than `flushed` if the hot rows include stored ones. */
  readonly stored: readonly number[];
  /** The hot rows of the lanes that answered; undefined for questions without hot rows. */
  readonly hot: readonly HotRows[] | undefined;
  /** The hours of the hot rows, in ms since 1970. */
  readonly hotHours: ReadonlySet<number>;
  /** An owner did not answer, so its hot rows are missing. */
  readonly partial: boolean;
}

/** For statements that read neither events nor sessions. */
export const NO_SEAM: Seam = {
  flushed: [],
  stored: [],
  hot: undefined,
  hotHours: new Set(),
  partial: false,
};

/** For statements over finalized hours: the store has all their rows. */
export const FINALIZED_SEAM: Seam = {
  ...NO_SEAM,
  flushed: Array(LANES_MAX).fill(EVERY_FLUSH),
  stored: Array(LANES_MAX).fill(EVERY_FLUSH),
};

/** Larger hot rows travel beside the statement, not in its text. */
const TEXT_MAX_BYTES = 32_768;

/** Seams by the answers that questions share: equal statements over one seam run once (`shared-statements.ts`). */
const seams = new WeakMap<HotAnswers, Seam>();

/** The seam of the owners' answers. The same answers give the same object. */
export function seamOf(answers: HotAnswers): Seam {
  const seam = seams.get(answers) ?? madeSeam(answers);
  seams.set(answers, seam);
  return seam;
}

function madeSeam({ answers, away }: HotAnswers): Seam {
  const flushed: number[] = [];
  const stored: number[] = [];
  const hot: HotRows[] = [];
  const hotHours = new Set<number>();
  for (const answer of answers) {
    if (answer?.head.kind !== 'rows') {
      // Without the owner's answer, everything in the store is history.
      flushed.push(EVERY_FLUSH);
      stored.push(EVERY_FLUSH);
      continue;
    }
    const { flushNumber, storedFlush = flushNumber, hours } = answer.head;
    flushed.push(flushNumber);
    stored.push(storedFlush);
    for (const hour of hours) hotHours.add(hour);
    // The same object for every question that shares the fetch, so that decoded rows can be cached by it.
    hot.push(answer);
  }
  // Everything of a lane that was not asked is history: the service has just grown, or had more lanes before its bus was lost.
  for (const list of [flushed, stored]) while (list.length < LANES_MAX) list.push(EVERY_FLUSH);
  return {
    flushed,
    stored,
    hot,
    hotHours,
    partial: away.length > 0,
  };
}

/**
 * A statement without its parts for hot rows: planning them costs the store up to half of the whole statement, even if
 * they read no row.
 * @throws {Error} when such parts do not begin and end in turn, or hot rows are named outside of them
 */
export function withoutHotParts(sql: string): string {
  const kept: string[] = [];
  let depth = 0;
  for (const piece of sql.split(/(\$IF_HOT\$|\$END_HOT\$)/)) {
    if (piece === IF_HOT) depth += 1;
    else if (piece === END_HOT) depth -= 1;
    else if (depth === 0) kept.push(piece);
    if (depth < 0) throw new Error(`${END_HOT} without ${IF_HOT}`);
  }
  if (depth > 0) throw new Error(`${IF_HOT} without ${END_HOT}`);
  const outside = kept.join('');
  const [named] = READS_HOT_ROWS.exec(outside) ?? [];
  if (named !== undefined) throw new Error(`${named} is outside of ${IF_HOT} … ${END_HOT}`);
  return outside;
}

/** The property of the store that decides how hot rows travel. */
export type HotRowsReader = Pick<Store, 'keepsTexts'>;

/** A statement of `sql/` with its hot rows and the tables beside it. */
export interface StatementWithHotRows {
  readonly sql: string;
  readonly tables: readonly StatementTable[];
}

/**
 * Puts the hot rows into a statement: few as hexadecimal digits in its text, so that no row can change the statement,
 * many as a table beside it. A table costs the store 5 ms more; text costs 40 ms for a thousand rows. A store that
 * keeps statements' texts always gets a table, because the rows name people.
 */
export function withHotRows(sql: string, seam: Seam, { keepsTexts }: HotRowsReader): StatementWithHotRows {
  const hasHot = seam.hot?.some(({ events, sessions }) => events.length + sessions.length > 0) ?? false;
  if (!hasHot) return { sql: withoutHotParts(sql), tables: [] };
  const tables: StatementTable[] = [];
  const rowsOf = (placeholder: string, table: 'events' | 'sessions', text: string): string => {
    if (!text.includes(placeholder)) return text;
    const bytes = bytesOf(seam, table);
    if (bytes.length <= (keepsTexts ? 0 : TEXT_MAX_BYTES))
      return text.replaceAll(placeholder, () => rowsInText(table, bytes));
    const name = `hot_${table}`;
    tables.push({ name, structure: unionStructureOf(table), bytes });
    return text.replaceAll(placeholder, name);
  };
  const whole = withHotStates(sql.replaceAll(IF_HOT, '').replaceAll(END_HOT, ''));
  return { sql: rowsOf(HOT_SESSIONS, 'sessions', rowsOf(HOT_EVENTS, 'events', whole)), tables };
}

function bytesOf({ hot = [] }: Seam, table: keyof HotRows): Uint8Array {
  const [first, ...others] = hot;
  // With one lane, the usual case, megabytes are not copied for each statement.
  if (first !== undefined && others.length === 0) return first[table];
  return Buffer.concat(hot.map((rows) => rows[table]));
}

function rowsInText(table: 'events' | 'sessions', bytes: Uint8Array): string {
  const structure = unionStructureOf(table).replaceAll("'", "\\'");
  // The engine cannot read a format from zero bytes.
  if (bytes.length === 0) return `null('${structure}')`;
  return `format(RowBinary, '${structure}', unhex('${Buffer.from(bytes).toString('hex')}'))`;
}
