import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { findingLine } from './findings.mjs';

/** @typedef {import('./findings.mjs').Finding} Finding */
/**
 * @typedef {object} MachineFacts
 * @property {number} cores
 * @property {number} memoryBytes what this process and its children may use
 * @property {number} filesMax open files of a process; infinite where the system does not say
 */

const GB = 1e9;
/** The service at rest, and the memory for the start of the store (`infra/launch/README.md`, Memory). */
const MEMORY_MIN_BYTES = 0.5 * GB;
const MEMORY_SMALL_BELOW_BYTES = 4 * GB;
/** Each live connection is a file, and the store has thousands. */
const FILES_ADVISED = 65_536;
const FILES_MIN = 4_096;

/** @returns {MachineFacts} */
export function machineFacts() {
  // 0 or a huge number where no limit is set.
  const limit = process.constrainedMemory?.() ?? 0;
  return {
    cores: availableParallelism(),
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
    filesMax: filesMax(),
  };
}

/**
 * @param {MachineFacts} facts
 * @param {{ readonly isSmall: boolean }} settings
 * @returns {Finding[]}
 */
export function examineMachine({ cores, memoryBytes, filesMax: files }, { isSmall }) {
  const memory = `${(memoryBytes / GB).toFixed(1)} GB`;
  const text = `${cores} ${cores === 1 ? 'core' : 'cores'}, ${memory} of memory`;
  return [
    memoryBytes < MEMORY_MIN_BYTES
      ? { name: 'machine', state: 'problem', text: `${text}. At least 0.5 GB are needed, with SMALL=1.` }
      : memoryBytes < MEMORY_SMALL_BELOW_BYTES && !isSmall
        ? { name: 'machine', state: 'advice', text: `${text}. Set SMALL=1, which keeps within 0.5 GB.` }
        : { name: 'machine', state: 'good', text },
    files < FILES_ADVISED
      ? {
          name: 'open files',
          state: files < FILES_MIN ? 'problem' : 'advice',
          text: `a process may open ${files}. Raise the limit to ${FILES_ADVISED} or more: ulimit -n, or LimitNOFILE of systemd.`,
        }
      : {
          name: 'open files',
          state: 'good',
          text: Number.isFinite(files) ? `${files} a process` : 'no limit',
        },
  ];
}

/**
 * Shows the findings about the machine, where the other checks cannot be loaded.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function showMachine(env) {
  const text =
    'packages or build are missing or older than their sources. npm run setup makes them; then the doctor also examines settings, data, ports, bus and store.';
  /** @type {Finding[]} */
  const findings = [
    { name: 'node', state: 'good', text: process.versions.node },
    ...examineMachine(machineFacts(), { isSmall: env.SMALL === '1' }),
    { name: 'build', state: 'advice', text },
  ];
  for (const finding of findings) process.stdout.write(`${findingLine(finding)}\n`);
  if (findings.some(({ state }) => state === 'problem')) process.exitCode = 1;
}

function filesMax() {
  try {
    // Node raises its own soft limit to the hard one at its start, and its children inherit that.
    const line = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    const soft = Number(line?.[1] ?? 'unlimited');
    return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
