import { ratio } from '../figures.ts';
import { byBytes } from '../rank-order.ts';
import type { Happened, Run } from './best-run.ts';
import { BETWEEN_MAX, BREAKDOWN_VALUES_MAX, type FunnelAnswer, type FunnelStepAnswer } from './funnel-api.ts';
import type { FunnelTally } from './people.ts';

/** Figures of a funnel besides its users. */
export interface FunnelWishes {
  /** True if labels of events of step 1 are values of a breakdown. */
  readonly byValue: boolean;
  /** True if labels of events that are no step are names to count. */
  readonly between: boolean;
}

const TIME_BYTES = 8;
const STEP_BYTES = 200;

type ReachedStep = Omit<FunnelStepAnswer, 'between'>;

/** Counts the users of a funnel, and answers. */
export class FunnelFigures implements FunnelTally {
  readonly #names: readonly string[];
  readonly #wishes: FunnelWishes;
  /** Users by the last step that they reached. */
  readonly #ended: number[];
  readonly #endedByValue = new Map<string, number[]>();
  /** The times from the step before, in milliseconds, by step. */
  readonly #times: number[][];
  /** Number of subtractions of each time, by step and time. */
  readonly #taken: Map<number, number>[];
  /** Number of events that happened before a step, by step. */
  readonly #passed: Map<string, number>[];

  constructor(names: readonly string[], wishes: FunnelWishes) {
    this.#names = names;
    this.#wishes = wishes;
    this.#ended = names.map(() => 0);
    this.#times = names.map(() => []);
    this.#taken = names.map(() => new Map());
    this.#passed = names.map(() => new Map());
  }

  /** Number of values of the breakdown. */
  get values(): number {
    return this.#endedByValue.size;
  }

  /** Users of the first step. */
  get users(): number {
    return sumFrom(this.#ended, 0);
  }

  /** Approximate size in memory. */
  get bytes(): number {
    return this.#times.reduce(
      (sum, times) => sum + TIME_BYTES * times.length,
      STEP_BYTES * this.#names.length,
    );
  }

  /** A copy, without the values of a breakdown and the events between steps. */
  copy(): FunnelFigures {
    const copy = new FunnelFigures(this.#names, this.#wishes);
    copy.add(this, 1);
    return copy;
  }

  /** Adds the users of other figures, or subtracts them. Leaves out the same parts as `copy`. */
  add(other: FunnelFigures, sign: 1 | -1): void {
    for (const [index, count] of other.#ended.entries()) addAt(this.#ended, index, sign * count);
    for (const [step, times] of other.#times.entries()) {
      const [own, taken] = [this.#times[step], this.#taken[step]];
      for (const time of times)
        if (sign > 0) own?.push(time);
        else taken?.set(time, (taken.get(time) ?? 0) + 1);
    }
  }

  addStarted(label: string, people: number): void {
    this.#add(1, label, people);
  }

  addRun({ reached, positions }: Run, events: Happened, labelOf: (position: number) => string): void {
    this.#add(reached, labelOf(positions[0] ?? 0), 1);
    for (let step = 1; step < reached; step += 1) {
      const before = positions[step - 1] ?? 0;
      const position = positions[step] ?? 0;
      this.#times[step]?.push((events.times[position] ?? 0) - (events.times[before] ?? 0));
      if (this.#wishes.between) this.#pass(step, { ...events, from: before + 1, to: position }, labelOf);
    }
  }

  /** The answer. `partial`: some data could not be reached. */
  answer(partial: boolean): FunnelAnswer {
    const steps = this.#stepsOf(this.#ended).map((step, index) => {
      const between = this.#between(index);
      return between === undefined ? step : { ...step, between };
    });
    return {
      steps,
      ...totalsOf(steps),
      ...(this.#wishes.byValue ? { breakdown: this.#breakdown(), breakdownValues: this.values } : {}),
      ...(partial ? { partial: true as const } : {}),
    };
  }

  #add(reached: number, value: string, people: number): void {
    addAt(this.#ended, reached - 1, people);
    if (!this.#wishes.byValue) return;
    const known = this.#endedByValue.get(value);
    const ended = known ?? this.#names.map(() => 0);
    if (known === undefined) this.#endedByValue.set(value, ended);
    addAt(ended, reached - 1, people);
  }

  #pass(step: number, { masks, from, to }: Happened, labelOf: (position: number) => string): void {
    const passed = this.#passed[step];
    for (let position = from; position < to; position += 1) {
      if (masks[position] !== 0) continue;
      const name = labelOf(position);
      passed?.set(name, (passed.get(name) ?? 0) + 1);
    }
  }

  #between(step: number): FunnelStepAnswer['between'] {
    const times = Float64Array.from(this.#counted(step)).sort();
    if (times.length === 0) return undefined;
    const passed = [...(this.#passed[step] ?? [])].map(([name, events]) => ({ name, events }));
    passed.sort((a, b) => b.events - a.events || byBytes(a.name, b.name));
    return {
      p50Seconds: (times[Math.floor((times.length * 5) / 10)] ?? 0) / 1000,
      p90Seconds: (times[Math.floor((times.length * 9) / 10)] ?? 0) / 1000,
      ...(this.#wishes.between ? { events: passed.slice(0, BETWEEN_MAX) } : {}),
    };
  }

  /** The times of a step, without the subtracted ones. */
  #counted(step: number): readonly number[] {
    const [times = [], taken] = [this.#times[step], new Map(this.#taken[step])];
    if (taken.size === 0) return times;
    return times.filter((time) => {
      const left = taken.get(time) ?? 0;
      if (left > 0) taken.set(time, left - 1);
      return left === 0;
    });
  }

  #breakdown(): NonNullable<FunnelAnswer['breakdown']> {
    return [...this.#endedByValue]
      .map(([value, ended]) => ({ value, ended, users: sumFrom(ended, 0) }))
      .sort((a, b) => b.users - a.users || byBytes(a.value, b.value))
      .slice(0, BREAKDOWN_VALUES_MAX)
      .map(({ value, ended }) => {
        const steps = this.#stepsOf(ended);
        return { value: value === '' ? null : value, steps, ...totalsOf(steps) };
      });
  }

  #stepsOf(ended: readonly number[]): ReachedStep[] {
    const users = ended.map((_, index) => sumFrom(ended, index));
    const first = users[0] ?? 0;
    const highest = highestDropoff(users);
    return users.map((reached, index) => {
      const previous = index === 0 ? reached : (users[index - 1] ?? 0);
      return {
        step: index + 1,
        eventName: this.#names[index] ?? '',
        users: reached,
        conversionRateFromStart: ratio(reached * 100, first),
        conversionRateFromPrevious: ratio(reached * 100, previous),
        dropoffPercent: ratio((previous - reached) * 100, previous),
        isHighestDropoff: index === highest,
      };
    });
  }
}

/** The index of the step that loses the greatest share of the users before it; -1 if none loses any. */
function highestDropoff(users: readonly number[]): number {
  let highest = { index: -1, lost: 0, of: 1 };
  for (const [index, reached] of users.entries()) {
    const of = users[index - 1] ?? 0;
    // Shares are compared without dividing, so that equal ones are equal.
    if ((of - reached) * highest.of > highest.lost * of) highest = { index, lost: of - reached, of };
  }
  return highest.index;
}

function totalsOf(steps: readonly ReachedStep[]) {
  const last = steps.at(-1);
  return {
    totalUsers: steps[0]?.users ?? 0,
    completedUsers: last?.users ?? 0,
    overallConversionRate: last?.conversionRateFromStart ?? 0,
  };
}

function sumFrom(counts: readonly number[], from: number): number {
  return counts.slice(from).reduce((sum, count) => sum + count, 0);
}

function addAt(counts: number[], index: number, count: number): void {
  counts[index] = (counts[index] ?? 0) + count;
}
