/**
 * A problem that the operator can fix. Its message is one line, says what to do, and is shown without a stack; `detail`
 * holds lines to show before it, such as the end of a log.
 */
export class Problem extends Error {
  /** @override */
  name = 'Problem';

  /**
   * @param {string} message
   * @param {string} [detail]
   */
  constructor(message, detail = '') {
    super(message);
    this.detail = detail;
  }
}

/**
 * The text to show for an error: a `Problem` as it is, anything else with its stack, because it is a bug.
 * @param {unknown} error
 * @returns {string}
 */
export function explain(error) {
  if (error instanceof Problem) return `${error.detail === '' ? '' : `${error.detail}\n`}${error.message}\n`;
  return `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

/**
 * Runs `work`. An error is shown, and the exit code is then 1.
 * @param {() => Promise<void>} work
 */
export async function orExplain(work) {
  try {
    await work();
  } catch (error) {
    process.stderr.write(explain(error));
    process.exitCode = 1;
  }
}
