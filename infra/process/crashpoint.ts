import { writeSync } from 'node:fs';

/**
 * The points at which a test may kill a process with nothing flushed or closed, to show that a restart repairs it. Each
 * names the gap between two durable steps.
 */
export const CRASH_POINTS = [
  'flush:before-intent',
  'flush:after-intent',
  'flush:after-events',
  'flush:after-feed',
  'flush:after-sessions',
  'flush:after-checkpoint',
  'flush:after-ack',
  'lane:after-restore',
  'refusal:after-search',
  'refusal:after-record',
  'refusal:after-removal',
  'refusal:after-marker',
  'refusal:after-pass',
  'publish:before-ack',
  'entities:after-publish',
  'entities:after-insert',
  'entities:after-checkpoint',
  'delivery:after-declare',
  'delivery:after-file',
  'delivery:after-decide',
  'delivery:after-manifest',
  'delivery:after-commit',
  'growth:after-rename',
  'growth:after-lane',
  'backup:after-hold',
  'backup:after-keep',
  'restore:after-begin',
  'restore:after-table',
  'restore:after-tables',
  'restore:after-checkpoint',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

/**
 * Arms one crash point from text of the form `name` or `name:after=N` (skip the first N visits). Returns the function
 * that the program calls at each point; it does nothing unless armed.
 */
export function crashPoints(armed: string): (point: CrashPoint) => void {
  if (armed === '') return () => {};
  const [name = '', after] = armed.split(':after=');
  let visitsLeft = after === undefined ? 0 : Number(after);
  if (!(CRASH_POINTS as readonly string[]).includes(name))
    throw new Error(`CRASH_POINT: unknown point ${name}`);
  return (point) => {
    if (point !== name) return;
    if (visitsLeft > 0) {
      visitsLeft -= 1;
      return;
    }
    writeSync(2, `crash point ${point} reached\n`);
    process.kill(process.pid, 'SIGKILL');
  };
}
