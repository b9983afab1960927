/** The events of one user, from `from` up to but not including `to`, in their order. */
export interface Happened {
  /** In milliseconds since any moment. */
  readonly times: Float64Array;
  /** A bit for each step that the event may be; bit 0 is step 1. */
  readonly masks: Uint32Array;
  readonly from: number;
  readonly to: number;
}

/** The furthest step of a user, and the events that led there. */
export interface Run {
  /** Number of the last step reached; 0 for none. */
  reached: number;
  /** The position of each reached step's event. */
  readonly positions: Int32Array;
}

/** Writes the best run of one user to `best`. */
export type RunFinder = (events: Happened, best: Run) => void;

/**
 * Finds the best run of one user after the other: the furthest step that any start reaches; among equal ones the earliest start with
 * the earliest continuation.
 *
 *     step 1 at       1   4            window 5
 *     step 2 at         3     8
 *     step 3 at               8 9      from 1: steps 1 3, then 8 is too late. From 4: 4 8 9, the best run
 *
 * From one start, the earliest event of each step is never worse than a later one. As starts advance, the event of each step
 * also only advances: so each step passes over the events once, however many starts there are.
 */
export function runFinder({
  steps,
  windowMs,
}: {
  readonly steps: number;
  readonly windowMs: number;
}): RunFinder {
  // By step, the position to continue the search at, and the run from the present start.
  const nextOfStep = new Int32Array(steps);
  const tried = new Int32Array(steps);
  return ({ times, masks, from, to }, best) => {
    best.reached = 0;
    nextOfStep.fill(from);
    for (let start = from; start < to && best.reached < steps; start += 1) {
      if (((masks[start] ?? 0) & 1) === 0) continue;
      const endMs = (times[start] ?? 0) + windowMs;
      tried[0] = start;
      let reached = 1;
      let position = start;
      while (reached < steps) {
        const bit = 1 << reached;
        let next = Math.max(nextOfStep[reached] ?? 0, position + 1);
        while (next < to && ((masks[next] ?? 0) & bit) === 0) next += 1;
        nextOfStep[reached] = next;
        if (next >= to || (times[next] ?? 0) > endMs) break;
        tried[reached] = next;
        position = next;
        reached += 1;
      }
      if (reached <= best.reached) continue;
      best.reached = reached;
      for (let step = 0; step < reached; step += 1) best.positions[step] = tried[step] ?? 0;
    }
  };
}
