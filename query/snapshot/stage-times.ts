import type { HeaderList } from '../../infra/http/headers.ts';

/**
 * Stages of a question in the order of the header. `owner`: the owners of the lanes were asked for what is not in the store.
 * `queue`: statements waited for their turn. `store`: the store ran them. `memory`: they were
 * answered from rows in memory. `encode`: the answer became JSON.
 */
export const STAGES = ['owner', 'queue', 'store', 'memory', 'encode'] as const;
export type Stage = (typeof STAGES)[number];

/** The header that says how long the stages of an answer took. */
export const SERVER_TIMING = 'server-timing';

/** How long each stage of one request took. A time in which a stage runs several times at once counts once. */
export class StageTimes {
  readonly #startedMs: number;
  readonly #running = new Map<Stage, { count: number; sinceMs: number }>();
  readonly #tookMs = new Map<Stage, number>();
  #rows = 0;

  constructor(nowMs: number) {
    this.#startedMs = nowMs;
  }

  begin(stage: Stage, nowMs: number): void {
    const running = this.#running.get(stage);
    if (running === undefined) this.#running.set(stage, { count: 1, sinceMs: nowMs });
    else running.count += 1;
  }

  /** Ends one `begin`. */
  end(stage: Stage, nowMs: number): void {
    const running = this.#running.get(stage);
    if (running === undefined) return;
    running.count -= 1;
    if (running.count > 0) return;
    this.#running.delete(stage);
    this.#tookMs.set(stage, (this.#tookMs.get(stage) ?? 0) + nowMs - running.sinceMs);
  }

  /** Adds what a statement is about to read: events or sessions, about. Infinite where that is not known. */
  noteRows(rows: number): void {
    this.#rows += rows;
  }

  /** The stages that ran, and `total`, which also has what none of them counts, in milliseconds; and what was read for them. */
  header(nowMs: number): HeaderList {
    const took = [
      ...STAGES.flatMap((stage) => this.#entryOf(stage)),
      entry('total', nowMs - this.#startedMs),
      ...(this.#rows > 0 && Number.isFinite(this.#rows) ? [`rows;desc="${this.#rows}"`] : []),
    ];
    return [[SERVER_TIMING, took.join(', ')]];
  }

  #entryOf(stage: Stage): readonly string[] {
    const tookMs = this.#tookMs.get(stage);
    return tookMs === undefined ? [] : [entry(stage, tookMs)];
  }
}

function entry(name: string, ms: number): string {
  return `${name};dur=${ms.toFixed(2)}`;
}
