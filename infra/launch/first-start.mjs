import { startChild } from './child.mjs';
import { Problem } from './problem.mjs';

/** @typedef {{ readonly created: boolean, readonly credentials: import('./first-lines.mjs').SiteCredentials,
 * readonly cors: readonly string[], readonly signIn: string | null }} FirstStart */

const TIME_MAX_MS = 60_000;
const TAIL_LINES = 12;

/**
 * Runs the program that creates team, site and clients when there are none. Its standard output contains secrets, so it
 * is read here and not logged.
 * @param {import('./child.mjs').ChildPlan} plan
 * @param {import('./log-file.mjs').LogFile} log
 * @param {(stop: () => void) => void} onStarted called with a function that stops the program early
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
  throw new Problem('Team, site and clients could not be created. The end of the log is above.', tail);
}

/**
 * @param {string} line
 * @returns {FirstStart | undefined}
 */
export function parseFirstStart(line) {
  try {
    const answer = JSON.parse(line);
    return typeof answer?.created === 'boolean' &&
      typeof answer.credentials === 'object' &&
      Array.isArray(answer.cors)
      ? answer
      : undefined;
  } catch {
    return undefined; // Another line.
  }
}
