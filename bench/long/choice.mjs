/** Assumed of a test whose last run did not pass, or that has not run yet. */
export const UNKNOWN_S = 300;

/**
 * @typedef {{ seconds: number | null, result: string | null }} LastRun
 * @typedef {{ file: string, expectedS: number, isKnown: boolean }} Candidate
 */

/**
 * Returns the long tests that a change touches: their own file, or a file below a folder that they cover. The test with the
 * shortest last run comes first, to fit as many as possible into the limit; tests without a last run come last.
 * @param {readonly string[]} changed
 * @param {Readonly<Record<string, readonly string[]>>} covered
 * @param {Readonly<Record<string, LastRun | undefined>>} lastRuns
 * @returns {Candidate[]}
 */
export function touchedTests(changed, covered, lastRuns) {
  return Object.entries(covered)
    .filter(([file, folders]) =>
      changed.some((path) => path === file || folders.some((folder) => path.startsWith(`${folder}/`))),
    )
    .map(([file]) => {
      const last = lastRuns[file];
      const isKnown = last?.result === 'passed' && typeof last.seconds === 'number';
      return { file, isKnown, expectedS: isKnown ? Number(last.seconds) : UNKNOWN_S };
    })
    .sort((a, b) => Number(b.isKnown) - Number(a.isKnown) || a.expectedS - b.expectedS);
}

/**
 * Why a test must not start with so much time left; undefined if it may.
 * @param {Candidate} candidate
 * @param {number} leftS
 * @returns {string | undefined}
 */
export function whyLeft({ expectedS, isKnown }, leftS) {
  if (expectedS <= leftS) return undefined;
  const needs = isKnown ? `took ${expectedS} s the last time` : `has no known duration, so ${expectedS} s`;
  return `${needs}, and ${Math.max(0, Math.floor(leftS))} s are left`;
}
