/**
 * How much more often than in `npm test` the tests with random cases repeat them: `npm run test:long` sets `THOROUGHNESS` to 4.
 * With `SEED`, where a test reads it, the cases are others, too.
 */
const THOROUGHNESS = Number(process.env.THOROUGHNESS ?? 1);

/** The number of repeats, of which `npm test` makes `count`. */
export function repeats(count: number): number {
  return Math.ceil(count * THOROUGHNESS);
}

/** Of so many places in a row, which ones a test takes: each `stride`th in `npm test`, more of them in `npm run test:long`. */
export function strideOf(stride: number): number {
  return Math.max(1, Math.floor(stride / THOROUGHNESS));
}
