import type { HeaderList } from '../../infra/http/headers.ts';
import { type Way, waysText } from '../ways.ts';

/**
 * Stages of a question in the order of the header. `owner`: the lanes' owners were asked for hot rows. `queue`:
 * statements waited for their turn, in the store or in memory. `store`: the store ran them. `memory`: they were
 * answered from rows in memory. `encode`: the answer became JSON.
 */
export const STAGES = ['owner', 'queue', 'store', 'memory', 'encode'] as const;
export type Stage = (typeof STAGES)[number];

/** The time of a stage that did not run. */
const NEVER = -1;

/** The header with the time of each stage, and the ways of the parts. */
export const SERVER_TIMING = 'server-timing';
/** Its entry with the ways. */
export const PLAN = 'plan';
/** Ways of one answer that are shown. A chart of many series has more statements. */
const WAYS_MAX = 24;

/** The time that each stage of one request took. Overlapping runs of a stage count once. */
export class StageTimes {
  readonly #startedMs: number;
  // By index of the stage: lists of five cost less than maps, and every question has them.
  readonly #running: number[] = [0, 0, 0, 0, 0];
  readonly #sinceMs: number[] = [0, 0, 0, 0, 0];
  readonly #tookMs: number[] = [NEVER, NEVER, NEVER, NEVER, NEVER];
  readonly #ways: Way[] = [];
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

  /** Notes how a part of the answer was found. */
  noteWay(way: Way): void {
    if (this.#ways.length < WAYS_MAX) this.#ways.push(way);
    this.#rows += way.rows ?? 0;
  }

  /** The stages that ran, `total` in ms, which includes time outside of all stages, the estimated rows, and the ways. */
  header(nowMs: number): HeaderList {
    let text = '';
    for (const [place, stage] of STAGES.entries()) {
      const tookMs = this.#tookMs[place] ?? NEVER;
      if (tookMs !== NEVER) text += `${entry(stage, tookMs)}, `;
    }
    text += entry('total', nowMs - this.#startedMs);
    if (this.#rows > 0 && Number.isFinite(this.#rows)) text += `, rows;desc="${this.#rows}"`;
    if (this.#ways.length > 0) text += `, ${PLAN};desc="${waysText(this.#ways)}"`;
    return [[SERVER_TIMING, text]];
  }
}

function entry(name: string, ms: number): string {
  return `${name};dur=${ms.toFixed(2)}`;
}
