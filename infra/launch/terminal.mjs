/** @typedef {{ write(text: string): unknown, isTTY?: boolean, columns?: number }} Output */
/** @typedef {(name: string, work: (note: (text: string) => void) => Promise<string> | string) => Promise<void>} Step */
/**
 * @typedef {object} Terminal
 * @property {(text: string) => void} line writes one line
 * @property {(name: string, text: string) => void} part writes one line about a part, in the columns of the steps
 * @property {Step} step runs `work` and writes one line: name, the text that `work` returned, how long it took
 */

export const NAME_WIDTH = 13;
const TEXT_WIDTH = 56;
const CLEAR_LINE = '\r\u001b[K';

/**
 * Prints plain lines; on a real terminal a running step is shown until its line is complete.
 * @param {Output} output
 * @param {{ color: boolean }} options
 * @returns {Terminal}
 */
export function createTerminal(output, { color }) {
  const live = output.isTTY === true;
  // A line that is printed while a step is shown replaces it on the screen.
  let isShowing = false;
  const line = (/** @type {string} */ text) => {
    output.write(`${isShowing ? CLEAR_LINE : ''}${text}\n`);
    isShowing = false;
  };
  const dim = (/** @type {string} */ text) => (color ? `\u001b[2m${text}\u001b[0m` : text);
  return {
    line,
    part: (name, text) => line(`  ${name.padEnd(NAME_WIDTH)}${text}`),
    step: async (name, work) => {
      const startedAtMs = performance.now();
      const note = (/** @type {string} */ text) => {
        if (live) output.write(`${CLEAR_LINE}  ${name.padEnd(NAME_WIDTH)}${dim(text)}`);
        isShowing = live;
      };
      note('…');
      try {
        const text = await work(note);
        const took = formatDuration(performance.now() - startedAtMs);
        line(`  ${name.padEnd(NAME_WIDTH)}${text.padEnd(TEXT_WIDTH)}${dim(took.padStart(9))}`);
      } finally {
        if (isShowing) output.write(CLEAR_LINE);
        isShowing = false;
      }
    },
  };
}

/**
 * A terminal that shows only the steps that took long, for a set-up that usually has nothing to do.
 * @param {Terminal} terminal
 * @param {number} quietMs
 * @returns {Terminal}
 */
export function quietTerminal(terminal, quietMs) {
  return {
    ...terminal,
    step: async (name, work) => {
      const startedAtMs = performance.now();
      const text = await work(() => {});
      const tookMs = performance.now() - startedAtMs;
      if (tookMs >= quietMs)
        terminal.part(name, `${text.padEnd(TEXT_WIDTH)}${formatDuration(tookMs).padStart(9)}`);
    },
  };
}

/**
 * @param {Output} output
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function wantsColor(output, env) {
  return output.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

/**
 * @param {number} durationMs
 * @returns {string} such as `12 ms`, `3.4 s`, `2 min 5 s`
 */
export function formatDuration(durationMs) {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
