/** What a command has to say, for people and for machines. */
export interface CommandOutput {
  readonly lines: readonly string[];
  readonly json: unknown;
  /** True where it is done, but not all of it. */
  readonly isIncomplete?: boolean;
}

/** Says how far something has come, on standard error. */
export type NoteWriter = (line: string) => void;

const GAP = '  ';

/** A heading and rows in columns that stand below each other. */
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

/** Names are what somebody typed in; nothing in them may move the cursor of whoever reads them. */
function legible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u{FFFD}');
}

function lengthOf(text: string): number {
  return [...text].length;
}
