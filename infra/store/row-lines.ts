import { Turns, type WorkTurn } from '../concurrency/turns.ts';

/** Large results give way between rows, all of a process one after the other. */
const turns = new Turns();
const NEWLINE = 10;

/** True if a result ends with this row, whatever comes after it. */
export type IsLastRow<Row> = (row: Row) => boolean;

/**
 * The rows of a result with one JSON object a line, parsed as it arrives and in short turns. Reading ends with the row
 * for which `isLast` holds, so a result takes no more memory than the caller's answer.
 */
export async function readRowLines<Row>(
  pieces: AsyncIterable<Uint8Array>,
  isLast?: IsLastRow<Row>,
): Promise<Row[]> {
  const rows: Row[] = [];
  const turn = turns.begin();
  let held: Uint8Array[] = [];
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      const rest = piece.subarray(from, end);
      const line = held.length === 0 ? rest : Buffer.concat([...held, rest]);
      held = [];
      from = end + 1;
      if (turn.isOver()) await turn.next();
      if (addRow(rows, line, isLast)) return rows;
    }
    if (from < piece.length) held.push(piece.subarray(from));
  }
  if (held.length > 0) addRow(rows, Buffer.concat(held), isLast);
  return rows;
}

/** The same of a text that has arrived. */
export async function parseRowLines<Row>(text: string): Promise<Row[]> {
  const rows: Row[] = [];
  const turn: WorkTurn = turns.begin();
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline;
    if (end > from) {
      if (turn.isOver()) await turn.next();
      rows.push(JSON.parse(text.slice(from, end)) as Row);
    }
    from = end + 1;
  }
  return rows;
}

/** Returns true if it was the last one. */
function addRow<Row>(rows: Row[], line: Uint8Array, isLast: IsLastRow<Row> | undefined): boolean {
  if (line.length === 0) return false;
  const row = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()) as Row;
  rows.push(row);
  return isLast?.(row) ?? false;
}
