import { spawn } from 'node:child_process';

/** @typedef {{ readonly code: number | null, readonly output: string }} CommandResult */

const OUTPUT_LENGTH_MAX = 64 * 1024;

/**
 * Runs a program to its end and returns the end of its output. The code is null when the program could not be started.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, timeoutMs?: number, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<CommandResult>}
 */
export function runCommand(command, args, { cwd, timeoutMs = 0, env = process.env } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: timeoutMs,
      ...(cwd === undefined ? {} : { cwd }),
    });
    let output = '';
    const collect = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk.toString('utf8')).slice(-OUTPUT_LENGTH_MAX);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => resolve({ code: null, output: error.message }));
    child.on('close', (code) => resolve({ code, output }));
  });
}

/**
 * Runs the npm that started this process, if there is one, so that both have the same version.
 * @param {readonly string[]} args
 * @param {{ cwd: string, timeoutMs?: number }} options
 */
export function runNpm(args, options) {
  const script = process.env.npm_execpath ?? '';
  if (/npm-cli\.c?js$/.test(script)) return runCommand(process.execPath, [script, ...args], options);
  return runCommand('npm', args, options);
}

/**
 * The last non-empty lines of a text.
 * @param {string} text
 * @param {number} linesMax
 */
export function lastLines(text, linesMax) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-linesMax).join('\n');
}
