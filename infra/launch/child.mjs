import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { signal } from './processes.mjs';

/**
 * @typedef {object} ChildPlan
 * @property {string} command
 * @property {readonly string[]} args
 * @property {NodeJS.ProcessEnv} env
 * @property {string} cwd
 * @property {((isGone: () => boolean) => Promise<Record<string, unknown>>) | undefined} probe how readiness is seen
 *   from outside; without it, the child says `ready {json}` on its standard output
 */
/** @typedef {(line: string, stream: 'stdout' | 'stderr') => void} OnLine */
/** @typedef {{ readonly code: number | null, readonly signal: NodeJS.Signals | null }} Exit */
/**
 * @typedef {object} Child
 * @property {number} pid
 * @property {Promise<Exit>} exited
 * @property {Promise<Record<string, unknown> | undefined>} ready what the child said of itself; undefined: it ended before
 * @property {() => boolean} isGone
 * @property {(name: NodeJS.Signals) => void} signal
 */

const LAST_WORDS_MS = 200;

/**
 * Starts one process of a part. It gets a process group of its own, so that Ctrl-C at the terminal reaches only the
 * launcher, which then ends the parts in order; and a pipe as standard input, whose end tells a child that the
 * launcher is gone however it died.
 * @param {ChildPlan} plan
 * @param {OnLine} onLine told every line that the child writes
 * @returns {Promise<Child>}
 */
export async function startChild(plan, onLine) {
  const spawned = spawn(plan.command, plan.args, {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await new Promise((resolve, reject) => {
    spawned.once('spawn', resolve);
    spawned.once('error', reject);
  });
  const pid = /** @type {number} */ (spawned.pid);
  spawned.on('error', () => {}); // A signal that could not be sent; `exited` tells what matters.
  spawned.stdin.on('error', () => {});
  let isGone = false;
  /** @type {Promise<Exit>} */
  const exited = new Promise((resolve) => {
    spawned.once('exit', (code, name) => {
      isGone = true;
      const finish = () => {
        clearTimeout(timer);
        signal(-pid, 'SIGKILL'); // Whatever it had started itself must not outlive it and hold its files.
        resolve({ code, signal: name });
      };
      // Its last words may still be in the pipe, which a process that it had started can hold open.
      const timer = setTimeout(finish, LAST_WORDS_MS);
      spawned.once('close', finish);
    });
  });
  const said = readReadyLine(spawned.stdout, onLine);
  createInterface({ input: spawned.stderr }).on('line', (line) => onLine(line, 'stderr'));
  const ready = plan.probe === undefined ? said : plan.probe(() => isGone);
  return {
    pid,
    exited,
    isGone: () => isGone,
    ready: Promise.race([ready, exited.then(() => undefined)]),
    signal: (name) => (isGone ? undefined : signal(pid, name)),
  };
}

/**
 * @param {import('node:stream').Readable} output
 * @param {OnLine} onLine
 * @returns {Promise<Record<string, unknown>>}
 */
function readReadyLine(output, onLine) {
  return new Promise((resolve) => {
    createInterface({ input: output }).on('line', (line) => {
      onLine(line, 'stdout');
      const facts = parseReadyLine(line);
      if (facts !== undefined) resolve(facts);
    });
  });
}

/**
 * @param {string} line
 * @returns {Record<string, unknown> | undefined} what follows `ready`; undefined for any other line
 */
export function parseReadyLine(line) {
  if (line !== 'ready' && !line.startsWith('ready {')) return undefined;
  try {
    return line === 'ready' ? {} : JSON.parse(line.slice('ready '.length));
  } catch {
    return undefined;
  }
}

/**
 * How a process ended, in words.
 * @param {Exit} exit
 */
export function describeExit({ code, signal: name }) {
  return name === null ? `ended with exit code ${code}` : `was ended by ${name}`;
}
