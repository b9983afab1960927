import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { lastLines } from './commands.mjs';

/** @typedef {{ write(text: string): void, tail(linesMax: number): string, close(): void }} LogFile */

const BYTES_MAX = 10 * 1024 * 1024;
const TAIL_LENGTH = 16 * 1024;

/**
 * A log that keeps at most twice `bytesMax`: when full it becomes `<path>.1`, in place of the one before. Writing is
 * synchronous, so that the last words of a part are there when the launcher reports them.
 * @param {string} path
 * @param {number} [bytesMax]
 * @returns {LogFile}
 */
export function openLogFile(path, bytesMax = BYTES_MAX) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let isOpen = true;
  // Of this run only: what an earlier one said would mislead.
  let written = '';
  let file = openSync(path, 'a', 0o600);
  let sizeBytes = fstatSync(file).size;
  return {
    write: (text) => {
      if (!isOpen) return;
      if (sizeBytes >= bytesMax) {
        closeSync(file);
        renameSync(path, `${path}.1`);
        file = openSync(path, 'a', 0o600);
        sizeBytes = 0;
      }
      sizeBytes += writeSync(file, text);
      written = (written + text).slice(-TAIL_LENGTH);
    },
    tail: (linesMax) =>
      lastLines((existsSync(path) ? readFileSync(path, 'utf8') : '').slice(-64 * 1024), linesMax),
    close: () => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}
