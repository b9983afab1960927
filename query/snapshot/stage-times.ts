import type { HeaderList } from '../../infra/http/headers.ts';

/**
 * Stages of a question in the order of the header. `owner`: the lanes' owners were asked for hot rows. `queue`:
 * statements waited for their turn, in the store or in memory. `store`: the store ran them. `memory`: they were
 * answered from rows in memory. `encode`: the answer became JSON.
 */
export const STAGES = ['owner', 'queue', 'store', 'memory', 'encode'] as const;
export type Stage = (typeof STAGES)[number];

/** The time of a stage that did not run. */
const NEVER = -1;

/** The header with the time of each stage. */
export const SERVER_TIMING = 'server-timing';

/** The time that each stage of one request took. Overlapping runs of a stage count once. */
export class StageTimes {
  readonly #startedMs: number;
  // By index of the stage: lists of five cost less than maps, and every question has them.
  readonly #running: number[] = [0, 0, 0, 0, 0];
  readonly #sinceMs: number[] = [0, 0, 0, 0, 0];
  readonly #tookMs: number[] = [NEVER, NEVER, NEVER, NEVER, NEVER];
  #rows = 0;

  constructor(nowMs: number) {
    this.#startedMs = nowMs;
  }

  begin(stage: Stage, nowMs: number): void {
    const place = STAGES.indexOf(stage);
    const running = this.#running[place] ?? 0;
    if (running === 0) this.#sinceMs[place] = nowMs;
    this.#running[place] = running + 1;
  }

  /** Ends one `begin`. */
  end(stage: Stage, nowMs: number): void {
    const place = STAGES.indexOf(stage);
    const running = this.#running[place] ?? 0;
    if (running === 0) return;
    this.#running[place] = running - 1;
    if (running > 1) return;
    this.#tookMs[place] = Math.max(0, this.#tookMs[place] ?? 0) + nowMs - (this.#sinceMs[place] ?? 0);
  }

  /** Time in ms that a stage took; 0 if it did not run. */
  tookMs(stage: Stage): number {
    return Math.max(0, this.#tookMs[STAGES.indexOf(stage)] ?? 0);
  }

  /** Adds an estimate of the events or sessions that a statement will read; infinite if unknown. */
  noteRows(rows: number): void {
    this.#rows += rows;
  }

  /** The stages that ran, `total` in ms, which includes time outside of all stages, and the estimated rows. */
  header(nowMs: number): HeaderList {
    let text = '';
    for (const [place, stage] of STAGES.entries()) {
      const tookMs = this.#tookMs[place] ?? NEVER;
      if (tookMs !== NEVER) text += `${entry(stage, tookMs)}, `;
    }
    text += entry('total', nowMs - this.#startedMs);
    if (this.#rows > 0 && Number.isFinite(this.#rows)) text += `, rows;desc="${this.#rows}"`;
    return [[SERVER_TIMING, text]];
  }
}

function entry(name: string, ms: number): string {
  return `${name};dur=${ms.toFixed(2)}`;
}
