import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { signal } from './processes.mjs';

/**
 * @typedef {object} ChildPlan
 * @property {string} command
 * @property {readonly string[]} args
 * @property {NodeJS.ProcessEnv} env
 * @property {string} cwd
 * @property {((isGone: () => boolean) => Promise<Record<string, unknown>>) | undefined} probe how readiness is checked
 * from outside; without it, the child prints `ready {json}` on its standard output
 */
/** @typedef {(line: string, stream: 'stdout' | 'stderr') => void} OnLine */
/** @typedef {{ readonly code: number | null, readonly signal: NodeJS.Signals | null }} Exit */
/**
 * @typedef {object} Child
 * @property {number} pid
 * @property {Promise<Exit>} exited
 * @property {Promise<Record<string, unknown> | undefined>} ready what the ready line says; undefined when the child
 * ended before
 * @property {() => boolean} isGone
 * @property {(name: NodeJS.Signals) => void} signal
 */

const LAST_OUTPUT_MS = 200;

/**
 * Starts one process of a part. It gets its own process group, so that Ctrl-C at the terminal reaches only the launcher, which then stops
 * the parts in order. Its standard input is a pipe, whose end shows the child that the launcher is gone, even after SIGKILL.
 *
 * execa cannot be used, because the launcher runs before any package is installed.
 * @param {ChildPlan} plan
 * @param {OnLine} onLine called with every line that the child writes
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
  spawned.on('error', () => {}); // A signal could not be sent; `exited` reports what matters.
  spawned.stdin.on('error', () => {});
  let isGone = false;
  /** @type {Promise<Exit>} */
  const exited = new Promise((resolve) => {
    spawned.once('exit', (code, name) => {
      isGone = true;
      const finish = () => {
        clearTimeout(timer);
        signal(-pid, 'SIGKILL'); // Processes that the child started must not outlive it and keep its files open.
        resolve({ code, signal: name });
      };
      // The child's last output may still be in the pipe, and a process that it started can keep the pipe open.
      const timer = setTimeout(finish, LAST_OUTPUT_MS);
      spawned.once('close', finish);
    });
  });
  const readyLine = readReadyLine(spawned.stdout, onLine);
  createInterface({ input: spawned.stderr }).on('line', (line) => onLine(line, 'stderr'));
  const ready = plan.probe === undefined ? readyLine : plan.probe(() => isGone);
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
 * Describes how a process ended.
 * @param {Exit} exit
 */
export function describeExit({ code, signal: name }) {
  return name === null ? `exited with code ${code}` : `was killed by ${name}`;
}
