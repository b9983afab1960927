import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { lastLines } from './commands.mjs';

/** @typedef {{ write(text: string): void, tail(linesMax: number): string, close(): void }} LogFile */

const BYTES_MAX = 10 * 1024 * 1024;
const TAIL_LENGTH = 16 * 1024;

/**
 * A log of at most about twice `bytesMax`: a full file becomes `<path>.1` and replaces the previous one. Writing is
 * synchronous, so that the last output of a part is available when the launcher reports it.
 * @param {string} path
 * @param {number} [bytesMax]
 * @returns {LogFile}
 */
export function openLogFile(path, bytesMax = BYTES_MAX) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let isOpen = true;
  // Output of this run only: that of an earlier run would mislead.
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
    tail: (linesMax) => lastLines(written, linesMax),
    close: () => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}
