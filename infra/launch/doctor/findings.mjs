import { NAME_WIDTH } from '../terminal.mjs';

/**
 * One thing that was looked at. `problem`: the service does not start or does not work. `advice`: it works, and something is
 * worth a change.
 * @typedef {{ readonly name: string, readonly state: 'good' | 'advice' | 'problem', readonly text: string }} Finding
 */

const MARKS = { good: ' ', advice: '!', problem: '✗' };

/**
 * The finding as a line of the terminal.
 * @param {Finding} finding
 */
export function findingLine({ name, state, text }) {
  return `${MARKS[state]} ${name.padEnd(NAME_WIDTH)}${text}`;
}
