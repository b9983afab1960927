import type { SeededRandom } from '../../ingest/testing/random.ts';

/** When virtual time begins, in milliseconds since 1970. */
const BEGIN_MS = Date.UTC(2026, 4, 1);
/** One schedule is far shorter: beyond it something never ends. */
const STEPS_MAX = 400_000;

const realImmediate = setImmediate;

/** An actor that takes turns: a dead one none, a paused one none before its pause ends. */
export interface Actor {
  readonly name: string;
  isAlive: boolean;
  pausedUntilMs: number;
  /** Until then nothing passes between it and the bus. */
  cutOffUntilMs: number;
}

interface PlannedStep {
  atMs: number;
  readonly order: number;
  readonly actor: Actor | undefined;
  readonly what: string;
  readonly act: () => void;
  isCancelled: boolean;
}

/** The language's functions for time and chance, as far as the program uses them. */
interface Globals {
  readonly setTimeout: typeof setTimeout;
  readonly clearTimeout: typeof clearTimeout;
  readonly setInterval: typeof setInterval;
  readonly clearInterval: typeof clearInterval;
  readonly dateNow: typeof Date.now;
  readonly performanceNow: typeof performance.now;
  readonly random: typeof Math.random;
}

/**
 * Virtual time without real waiting: each step is planned for a moment, and the next one runs as soon as everything started by
 * the previous step is waiting. Steps of the same moment run in the order in which they were planned, so the same seed always
 * gives the same schedule.
 *
 * While it runs, it replaces the timers, clocks and `Math.random` of the language. A timer belongs to the actor whose step
 * started it: it ends with the actor, and waits while the actor is paused.
 */
export class VirtualTime {
  /** The clock is global: a test beyond its time limit still runs, and would move the clock of the next one. */
  static #isRunning = false;
  readonly random: SeededRandom;
  readonly #heap: PlannedStep[] = [];
  readonly #onStep: (line: () => string) => void;
  #order = 0;
  #nowMs = 0;
  #hash = 0x811c9dc5;
  #steps = 0;
  #actor: Actor | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @param onStep called with every step, to read the trace */
  constructor(random: SeededRandom, onStep: (line: () => string) => void = () => {}) {
    this.random = random;
    this.#onStep = onStep;
  }

  /** Milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Milliseconds since 1970. */
  get dateMs(): number {
    return BEGIN_MS + this.#nowMs;
  }

  /** The actor of the current step; undefined for bus, store and the world. */
  get actor(): Actor | undefined {
    return this.#actor;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Hash of everything that has happened, in order. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  /** Plans a step of an actor, or of the world; returns a function that cancels it. */
  plan(afterMs: number, actor: Actor | undefined, what: string, act: () => void): () => void {
    const atMs = this.#nowMs + Math.max(0, afterMs);
    this.#order += 1;
    const step = { atMs, order: this.#order, actor, what, act, isCancelled: false };
    this.#push(step);
    return () => {
      step.isCancelled = true;
    };
  }

  /** Resolves for the actor whose turn it is after a while. */
  wait(afterMs: number, what = 'wait'): Promise<void> {
    return new Promise((resolve) => this.plan(afterMs, this.#actor, what, resolve));
  }

  /** Adds to the trace. */
  note(text: string): void {
    let hash = this.#hash;
    for (let index = 0; index < text.length; index += 1)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    this.#hash = hash;
    this.#onStep(() => `${this.#nowMs.toFixed(1).padStart(9)} ${text}`);
  }

  /** Ends the run with an error. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Runs until `work` has ended. @throws the error of `work` or `fail` */
  async run(work: () => Promise<void>): Promise<void> {
    if (VirtualTime.#isRunning) throw new Error('another simulation is still running');
    VirtualTime.#isRunning = true;
    const globals = this.#install();
    try {
      let isOver = false;
      work().then(
        () => {
          isOver = true;
        },
        (error: unknown) => this.fail(error),
      );
      await turn();
      while (!isOver && this.#failure === undefined) {
        const step = this.#pop();
        if (step === undefined) throw new Error('everything waits, and nothing is planned');
        if (!this.#isDue(step)) continue;
        this.#nowMs = Math.max(this.#nowMs, step.atMs);
        this.#steps += 1;
        if (this.#steps > STEPS_MAX) throw new Error('it does not come to an end');
        this.note(`${step.actor?.name ?? 'world'} ${step.what}`);
        this.#actor = step.actor;
        step.act();
        await turn();
        this.#actor = undefined;
      }
      if (this.#failure !== undefined) throw this.#failure.error;
    } finally {
      this.#actor = undefined;
      restore(globals);
      VirtualTime.#isRunning = false;
    }
  }

  #isDue(step: PlannedStep): boolean {
    const { actor } = step;
    if (step.isCancelled || actor?.isAlive === false) return false;
    if (actor === undefined || actor.pausedUntilMs <= Math.max(this.#nowMs, step.atMs)) return true;
    step.atMs = actor.pausedUntilMs;
    this.#push(step);
    return false;
  }

  #install(): Globals {
    const globals: Globals = {
      setTimeout: globalThis.setTimeout,
      clearTimeout: globalThis.clearTimeout,
      setInterval: globalThis.setInterval,
      clearInterval: globalThis.clearInterval,
      dateNow: Date.now,
      performanceNow: performance.now,
      random: Math.random,
    };
    const start = (act: () => void, ms: number, isRepeated: boolean) => {
      const actor = this.#actor;
      const timer = { cancel: () => {}, unref: () => timer, ref: () => timer };
      const again = () => {
        timer.cancel = this.plan(Math.max(ms, 0.1), actor, 'timer', () => {
          if (isRepeated) again();
          act();
        });
      };
      again();
      return timer;
    };
    const stop = (timer?: { readonly cancel?: () => void }) => timer?.cancel?.();
    Object.assign(globalThis, {
      setTimeout: (act: () => void, ms = 0) => start(act, ms, false),
      clearTimeout: stop,
      setInterval: (act: () => void, ms = 0) => start(act, ms, true),
      clearInterval: stop,
    });
    Date.now = () => Math.floor(this.dateMs);
    performance.now = () => this.#nowMs;
    Math.random = () => this.random.next();
    return globals;
  }

  #push(step: PlannedStep): void {
    const heap = this.#heap;
    let place = heap.push(step) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, step)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = step;
  }

  #pop(): PlannedStep | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      let below = heap[child];
      if (below === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, below)) {
        child += 1;
        below = right;
      }
      if (isBefore(last, below)) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(one: PlannedStep, other: PlannedStep): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

function restore(globals: Globals): void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globals;
  Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  Date.now = globals.dateNow;
  performance.now = globals.performanceNow;
  Math.random = globals.random;
}

/** Resolves once every promise that can make progress has done so. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}
