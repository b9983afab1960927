/**
 * The factor for the random cases of a test compared to `npm test`; `npm run test:long` sets 4. Where a test reads `SEED`, it gives other
 * cases.
 */
const THOROUGHNESS = Number(process.env.THOROUGHNESS ?? 1);

/** The number of repeats where `npm test` has `count`. */
export function repeats(count: number): number {
  return Math.ceil(count * THOROUGHNESS);
}

/** The step through a list of places: `npm test` takes every `stride`th, and `npm run test:long` more. */
export function strideOf(stride: number): number {
  return Math.max(1, Math.floor(stride / THOROUGHNESS));
}
