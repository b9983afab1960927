/** The result of a command, for people and for programs. */
export interface CommandOutput {
  readonly lines: readonly string[];
  readonly json: unknown;
  /** The id of the client that was created. */
  readonly made?: string;
  /** True if the command completed but could not process everything. */
  readonly isIncomplete?: boolean;
}

/** Writes one line to standard error. */
export type NoteWriter = (line: string) => void;

const GAP = '  ';

/** A heading and rows in aligned columns. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heading, ...rows.map((row) => row.map(legible))];
  const widths = heading.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, lengthOf(row[column] ?? '')), 0),
  );
  return all.map((row) =>
    widths
      .map((width, column) => (row[column] ?? '') + ' '.repeat(width - lengthOf(row[column] ?? '')))
      .join(GAP)
      .trimEnd(),
  );
}

/** `1 team`, `2 teams` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Names are user input; control characters in them must not reach the terminal. */
function legible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u{FFFD}');
}

function lengthOf(text: string): number {
  return [...text].length;
}
