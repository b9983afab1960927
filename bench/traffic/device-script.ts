import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import { SESSION_GAP_MS } from '../../ingest/event.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';

/** One event that a scripted device sends, under its own id. */
export interface ScriptedEvent {
  readonly eventId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly name: string;
  readonly occurredAtMs: number;
  readonly path: string;
}

const HISTORY_MS = 6 * DAY_MS;
/** Longer than a step, and than clocks are wrong. */
const END_MS = 2 * HOUR_MS;
const LIVES_APART = 1_000_003;
/** A late event happened this long before the events around it. */
const LATE_MS = { min: HOUR_MS, max: 12 * HOUR_MS };

/**
 * A sequence of one device's events, some three thousand, the same for the same seed. It moves through the past week in steps that
 * are short, exactly at the edge of the session gap, long, or backwards, so that sessions open, grow at both ends and
 * stay apart.
 */
export class DeviceScript {
  readonly deviceId: string;
  readonly #seed: number;
  readonly #nowMs: number;
  readonly #life: number;
  readonly #random: SeededRandom;
  #atMs: number;
  #sent = 0;

  constructor(seed: number, nowMs: number, life = 0) {
    this.#seed = seed;
    this.#nowMs = nowMs;
    this.#life = life;
    this.#random = new SeededRandom(seed + life * LIVES_APART);
    this.deviceId = life === 0 ? `device-${seed}` : `device-${seed}-${life}`;
    this.#atMs = nowMs - HISTORY_MS + this.#random.integer(0, 60 * MINUTE_MS);
  }

  /** True if its week is over: later events would be ahead of clocks, and collectors would correct them. */
  get isOver(): boolean {
    return this.#atMs > this.#nowMs - END_MS;
  }

  /** Another device, which begins a week ago as this one did. */
  successor(): DeviceScript {
    return new DeviceScript(this.#seed, this.#nowMs, this.#life + 1);
  }

  next(): ScriptedEvent {
    this.#atMs += this.#stepMs();
    return this.#eventAt(this.#atMs);
  }

  /** An event that arrives hours late; later events continue from the device's present state. */
  late(): ScriptedEvent {
    return this.#eventAt(this.#atMs - this.#random.integer(LATE_MS.min, LATE_MS.max));
  }

  #eventAt(occurredAtMs: number): ScriptedEvent {
    const random = this.#random;
    this.#sent += 1;
    return {
      eventId: `${this.deviceId}-${this.#sent}`,
      deviceId: this.deviceId,
      profileId: random.chance(0.05) ? `person-${random.integer(1, 50)}` : '',
      name: random.chance(0.75) ? 'screen_view' : 'click',
      occurredAtMs,
      path: `/page/${random.integer(1, 30)}`,
    };
  }

  #stepMs(): number {
    const random = this.#random;
    const kind = random.next();
    if (kind < 0.74) return random.integer(0, 2 * MINUTE_MS);
    if (kind < 0.82) return SESSION_GAP_MS + random.integer(-1, 1);
    if (kind < 0.86) return random.integer(31, 60) * MINUTE_MS;
    if (kind < 0.96) return -random.integer(0, 25) * MINUTE_MS;
    return -SESSION_GAP_MS + random.integer(-1, 1);
  }
}
