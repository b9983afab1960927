import { RejectError } from '../reject.ts';
import { type Happened, type Run, runFinder } from './best-run.ts';

/** Bits of the mask below a word's time, and the milliseconds in one unit of the word's upper half. */
const MASK_BITS = 16;
const MASK = 2 ** MASK_BITS - 1;
const UPPER_MS = 2 ** (32 - MASK_BITS);
/** The highest bit of every number is set. */
const WITHOUT_HIGHEST = 0x7fff_ffff;

/** A row of `sql/funnel.sql`: people that are only counted, by `value`; or a part of the others, with their events. */
export interface PeopleRow {
  readonly value: string;
  readonly people: number;
  /** Number of events in the row. Without events, its people are at step 1. */
  readonly events: number;
  /** 32-bit numbers, and 64-bit ones for words, in URL-safe base64. */
  readonly lengths: string;
  readonly words: string;
  /** For each event, the number of its label among `texts`, from 1; empty without labels. */
  readonly labels: string;
  readonly texts: readonly string[];
  /** The ids, in hexadecimal, of people whose events are left out: it is unsure which of them a run may have, or in which order. */
  readonly unsure: readonly string[];
  /** The hours of their events, since 1970. */
  readonly unsureHours: readonly number[];
}

/** Counts the users of a funnel. The run and the events are only valid during the call. */
export interface FunnelTally {
  /** Adds users without an event of step 2 after one of step 1, by the label of their first event of step 1. */
  addStarted(label: string, people: number): void;
  /** One user with a best run. */
  addRun(run: Run, events: Happened, labelOf: (position: number) => string): void;
}

/**
 * Counts the users of each row. Other work may run between two rows, since a row may have a hundred thousand events.
 * @throws {RejectError} 400 when there are more than `eventsMax` events, so that the rows came without them
 */
export async function tallyPeople(
  rows: readonly PeopleRow[],
  question: { readonly steps: number; readonly windowMs: number; readonly eventsMax: number },
  tally: FunnelTally,
): Promise<void> {
  const events = rows.reduce((sum, row) => sum + row.events, 0);
  if (events > question.eventsMax)
    throw new RejectError(
      'too-large',
      `range: users who have an event of step 2 after one of step 1 have more than ${question.eventsMax} events; choose a shorter range, or add filters`,
    );
  for (const row of rows) {
    if (row.events === 0) tally.addStarted(row.value, row.people);
    else {
      tallyRow(row, question, tally);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function tallyRow(
  { lengths, words, labels, texts }: PeopleRow,
  { steps, windowMs }: { readonly steps: number; readonly windowMs: number },
  tally: FunnelTally,
): void {
  const { times, masks } = unpacked(numbersIn(words));
  const places = numbersIn(labels);
  const labelOf = (position: number) => texts[((places[position] ?? 0) & WITHOUT_HIGHEST) - 1] ?? '';
  const run: Run = { reached: 0, positions: new Int32Array(steps) };
  const findBest = runFinder({ steps, windowMs });
  let from = 0;
  for (const marked of numbersIn(lengths)) {
    const to = from + (marked & WITHOUT_HIGHEST);
    const events = { times, masks, from, to };
    findBest(events, run);
    tally.addRun(run, events, labelOf);
    from = to;
  }
}

function unpacked(words: Uint32Array): Pick<Happened, 'times' | 'masks'> {
  const count = words.length / 2;
  const times = new Float64Array(count);
  const masks = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) {
    const lower = words[2 * index] ?? 0;
    masks[index] = lower & MASK;
    times[index] = ((words[2 * index + 1] ?? 0) & WITHOUT_HIGHEST) * UPPER_MS + (lower >>> MASK_BITS);
  }
  return { times, masks };
}

/** The 32-bit numbers, little-endian, in a text of URL-safe base64. */
function numbersIn(text: string): Uint32Array {
  const bytes = Buffer.from(text, 'base64url');
  // A copy, because a buffer may begin at any address.
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
