import { type ChildPlan, startChild } from './child.ts';
import type { SiteCredentials } from './first-lines.ts';
import type { LogFile } from './log-file.ts';
import { Problem } from './problem.mjs';

export interface FirstStart {
  readonly created: boolean;
  readonly credentials: SiteCredentials;
  readonly cors: readonly string[];
  readonly signIn: string | null;
}

const TIME_MAX_MS = 60_000;
const TAIL_LINES = 12;

/**
 * Runs the program that creates team, site and clients when there are none. Its standard output contains secrets, so it
 * is read here and not logged. Calls `onStarted` with a function that stops the program early.
 */
export async function runFirstStart(
  plan: ChildPlan,
  log: LogFile,
  onStarted: (stop: () => void) => void,
): Promise<FirstStart> {
  let answer: FirstStart | undefined;
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

export function parseFirstStart(line: string): FirstStart | undefined {
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
