import { startChild } from './child.mjs';
import { Problem } from './problem.mjs';

/** @typedef {{ readonly created: boolean, readonly credentials: import('./first-lines.mjs').Credentials }} FirstStart */

const TIME_MAX_MS = 60_000;
const TAIL_LINES = 12;

/**
 * Runs the one-shot that makes team, site and clients where there are none. Its standard output holds secrets, so it is
 * read here and goes to no log.
 * @param {import('./child.mjs').ChildPlan} plan
 * @param {import('./log-file.mjs').LogFile} log
 * @param {(stop: () => void) => void} onStarted told how to end it before its time
 * @returns {Promise<FirstStart>}
 */
export async function runFirstStart(plan, log, onStarted) {
  /** @type {FirstStart | undefined} */
  let answer;
  const child = await startChild(plan, (line, stream) => {
    if (stream === 'stderr') log.write(`${line}\n`);
    else answer = parseFirstStart(line) ?? answer;
  });
  onStarted(() => child.signal('SIGKILL'));
  const timer = setTimeout(() => child.signal('SIGKILL'), TIME_MAX_MS);
  const { code } = await child.exited;
  clearTimeout(timer);
  const tail = log.tail(TAIL_LINES);
  log.close();
  if (code === 0 && answer !== undefined) return answer;
  throw new Problem('Team, site and clients could not be made. The last lines of the log are above.', tail);
}

/**
 * @param {string} line
 * @returns {FirstStart | undefined}
 */
export function parseFirstStart(line) {
  try {
    const answer = JSON.parse(line);
    return typeof answer?.created === 'boolean' && typeof answer.credentials === 'object'
      ? answer
      : undefined;
  } catch {
    return undefined; // Some other line.
  }
}
