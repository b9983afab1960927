import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';

/** A reading of a wall clock, in milliseconds since 1970 as if the wall clock were in UTC. */
export type WallMs = number;

const FORMATS_MAX = 1_000;
/** Enough for a year by days and a series by hours. */
const OFFSETS_MAX = 8_192;
/** The last instant that a date may have. */
const LAST_MS = 8_640_000_000_000_000;

/**
 * The time zone of a site: local times, and their instants. Everything follows from `offsetMs`, which reads the
 * runtime's zone tables, so days of 23 and 25 hours and offsets of half hours need no special case.
 */
export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  /** Offsets at full hours of UTC. Reading the tables takes a hundred times as long, and a year has many days. */
  readonly #offsets = new Map<number, number>();

  private constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** The zone of this IANA name; undefined when the runtime knows no such zone. */
  static of(name: string): Zone | undefined {
    try {
      return new Zone(name);
    } catch {
      return undefined; // The runtime throws for an unknown name.
    }
  }

  /** The wall clock's time at `atMs`. */
  wallMs(atMs: number): WallMs {
    return atMs + this.offsetMs(atMs);
  }

  /** Offset of the wall clock ahead of UTC at `atMs`. */
  offsetMs(atMs: number): number {
    const hour = Math.floor(atMs / HOUR_MS) * HOUR_MS;
    if (hour + HOUR_MS > LAST_MS) return this.#readOffsetMs(atMs);
    const offset = this.#hourOffsetMs(hour);
    // No zone has ever changed its offset and back within an hour.
    return offset === this.#hourOffsetMs(hour + HOUR_MS) ? offset : this.#readOffsetMs(atMs);
  }

  #hourOffsetMs(hour: number): number {
    let offset = this.#offsets.get(hour);
    if (offset === undefined) {
      offset = this.#readOffsetMs(hour);
      if (this.#offsets.size >= OFFSETS_MAX) this.#offsets.clear();
      this.#offsets.set(hour, offset);
    }
    return offset;
  }

  #readOffsetMs(atMs: number): number {
    const second = Math.floor(atMs / 1000) * 1000;
    const part: Record<string, number> = {};
    let isBeforeChrist = false;
    for (const { type, value } of this.#format.formatToParts(second)) {
      if (type === 'era') isBeforeChrist = value.startsWith('B');
      else part[type] = Number(value);
    }
    const year = part.year ?? 0;
    const wall = new Date(0);
    wall.setUTCFullYear(isBeforeChrist ? 1 - year : year, (part.month ?? 1) - 1, part.day ?? 1);
    wall.setUTCHours(part.hour ?? 0, part.minute ?? 0, part.second ?? 0);
    return wall.getTime() - second;
  }

  /**
   * The first instant at which the wall clock shows `wall` or later. For a repeated hour this is the first
   * pass; for a skipped hour, the instant of the jump.
   *
   *     wall clock  01:00 ─▶ 02:00┐ skipped ┌03:00 ─▶        instantOf(02:30) is the jump
   *                               └─────────┘
   */
  instantOf(wall: WallMs): number {
    const before = wall - this.offsetMs(wall - DAY_MS);
    const after = wall - this.offsetMs(wall + DAY_MS);
    const first = Math.min(before, after);
    if (this.wallMs(first) === wall) return first;
    const second = Math.max(before, after);
    if (this.wallMs(second) === wall) return second;
    // `first` shows less than `wall`, `second` does not.
    return firstBetween(first, second, (atMs) => this.wallMs(atMs) >= wall);
  }

  /** The first instant after the clocks jump in (`fromMs`, `toMs`], two instants with different offsets. */
  changeBetween(fromMs: number, toMs: number): number {
    const offset = this.offsetMs(fromMs);
    return firstBetween(fromMs, toMs, (atMs) => this.offsetMs(atMs) !== offset);
  }
}

/** The first instant in (`low`, `high`] at which `holds`. It then holds until `high`. */
function firstBetween(low: number, high: number, holds: (atMs: number) => boolean): number {
  let before = low;
  let after = high;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(middle)) after = middle;
    else before = middle;
  }
  return after;
}

/** Zones by name, cached because making one takes a millisecond. Unknown names become UTC. */
export class Zones {
  readonly #byName = new Map<string, Zone>();

  of(name: string): Zone {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const zone = Zone.of(name) ?? Zone.of('UTC');
    if (zone === undefined) throw new Error('the runtime does not know UTC');
    // There are some six hundred names, so only misspelt ones can exceed this.
    if (this.#byName.size >= FORMATS_MAX) this.#byName.clear();
    this.#byName.set(name, zone);
    return zone;
  }
}
