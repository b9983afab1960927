import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import type { StoreSettings } from '../../infra/store/replication.ts';
import type { Conditions } from '../filters/conditions.ts';
import { MADE_STATEMENTS } from '../sql/made-statements.ts';
import { withRelations } from '../sql/relations.ts';
import { withRollupTexts } from '../sql/rollup-texts.ts';
import { withoutHotParts } from './seam.ts';

const STATEMENTS = join(projectRoot, 'query/sql');
const ALWAYS = '1';

/** Texts for the placeholders of a statement. All are ours: no text of a request becomes part of a statement. */
export interface StatementTexts extends Conditions {
  /** Columns of the rows, for `$COLUMNS$`. */
  readonly columns?: string;
  /** For `$HOT_COLUMNS$`, where the columns of hot rows differ. */
  readonly hotColumns?: string;
  /** The rows of a subquery, for `$ROWS$`. */
  readonly rows?: string;
  /** The aggregate over those rows, for `$FIGURE$`. */
  readonly figure?: string;
  /** A condition on the hours of the events that are read, for `$IN_HOURS$`. */
  readonly inHours?: string;
  /** The goals that an event passes, as the bits of a number, for `$GOALS$`. */
  readonly goals?: string;
  /** The same for a session, for `$SESSION_GOALS$`. */
  readonly sessionGoals?: string;
  /** The table of rollups, for `$ROLLUP_TABLE$`. */
  readonly rollupTable?: string;
  /** For `$ORDER$`. */
  readonly order?: string;
}

/** Texts for a statement that answers in bytes. */
export interface StreamTexts extends StatementTexts {
  /** Columns of the tables, for `$SOURCES$`. */
  readonly sources: string;
  /** For `$FORMAT$`. */
  readonly format: string;
  /** For `$ORDER$`: a whole clause, or nothing. */
  readonly order: string;
  readonly settings: StoreSettings;
}

/**
 * The statements of `sql/` by name: the name of a file without `.sql`, or of one that is made.
 * @throws {Error} when the parts for hot rows of one are wrong: at the start, not in a question
 */
export function readStatements(): ReadonlyMap<string, string> {
  const files = readdirSync(STATEMENTS).filter((name) => name.endsWith('.sql'));
  const written = files.map(
    (file) => [file.replace(/\.sql$/, ''), readFileSync(join(STATEMENTS, file), 'utf8')] as const,
  );
  const statements = new Map<string, string>();
  for (const [name, sql] of [...written, ...Object.entries(MADE_STATEMENTS)]) {
    const text = withRelations(withRollupTexts(sql));
    withoutHotParts(text);
    statements.set(name, text);
  }
  return statements;
}

/** Replaces all placeholders except the marks of hot rows (`seam.ts`). */
export function withTexts(statement: string, texts: StatementTexts | StreamTexts): string {
  const { columns = '', hotColumns = columns, rows = '', figure = '', rollupTable = '' } = texts;
  const { goals = '', sessionGoals = '', order = '', inHours = ALWAYS } = texts;
  const { events = ALWAYS, hotEvents = ALWAYS, sessions = ALWAYS } = texts;
  const { eventFilter = ALWAYS, passing = ALWAYS, alone = ALWAYS } = texts;
  const text = statement
    .replaceAll('$COLUMNS$', () => columns)
    .replaceAll('$HOT_COLUMNS$', () => hotColumns)
    .replaceAll('$ROWS$', () => rows)
    .replaceAll('$FIGURE$', () => figure)
    .replaceAll('$IN_HOURS$', () => inHours)
    .replaceAll('$GOALS$', () => goals)
    .replaceAll('$SESSION_GOALS$', () => sessionGoals)
    .replaceAll('$ROLLUP_TABLE$', () => rollupTable)
    .replaceAll('$ORDER$', () => order)
    .replaceAll('$FILTER$', () => events)
    .replaceAll('$HOT_FILTER$', () => hotEvents)
    .replaceAll('$SESSION_FILTER$', () => sessions)
    .replaceAll('$EVENT_FILTER$', () => eventFilter)
    .replaceAll('$PASSING$', () => passing)
    .replaceAll('$ALONE_FILTER$', () => alone);
  if (!('format' in texts)) return text;
  return text.replaceAll('$SOURCES$', () => texts.sources).replaceAll('$FORMAT$', () => texts.format);
}
