import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { lastLines } from './commands.mjs';

export type LogFile = { write(text: string): void; tail(linesMax: number): string; close(): void };
export interface LogFileOptions {
  readonly bytesMax?: number;
  /** Called when lines begin to be dropped, and when they are written again. */
  readonly say?: (text: string) => void;
}

const BYTES_MAX = 10 * 1024 * 1024;
const TAIL_LENGTH = 16 * 1024;

/**
 * A log of at most about twice `bytesMax`: a full file becomes `<path>.1` and replaces the previous one. Writing is synchronous, so the
 * last output of a part is available when the launcher reports it.
 *
 * A failed write, for example to a full disk, drops its line and counts it: the service is worth more than its log. The next successful
 * write begins with the number of dropped lines.
 */
export function openLogFile(
  path: string,
  { bytesMax = BYTES_MAX, say = () => {} }: LogFileOptions = {},
): LogFile {
  let isOpen = true;
  // Output of this run only: an earlier run's would mislead.
  let written = '';
  let file: number | undefined;
  let sizeBytes = 0;
  let dropped = 0;

  const open = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const opened = openSync(path, 'a', 0o600);
    sizeBytes = fstatSync(opened).size;
    return opened;
  };
  const rotate = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
    renameSync(path, `${path}.1`);
  };
  const append = (text: string) => {
    if (sizeBytes >= bytesMax) rotate();
    file ??= open();
    sizeBytes += writeAll(file, Buffer.from(text));
  };
  const attempt = (text: string) => {
    try {
      append(text);
      return '';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };

  const failure = attempt('');
  if (failure !== '') say(`its log cannot be written (${failure})`);
  return {
    write: (text) => {
      if (!isOpen) return;
      written = (written + text).slice(-TAIL_LENGTH);
      const missing = dropped === 0 ? '' : `\n… ${dropped} lines could not be written here\n`;
      const why = attempt(missing + text);
      if (why === '') {
        if (dropped > 0) say(`its log is written again; ${dropped} lines are missing there`);
        dropped = 0;
        return;
      }
      if (dropped === 0) say(`its log cannot be written (${why}), dropping lines`);
      dropped += text.split('\n').length - 1;
    },
    tail: (linesMax) => lastLines(written, linesMax),
    close: () => {
      isOpen = false;
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** Writes everything or throws; a disk that fills up takes a part of the bytes first. Returns the number of bytes. */
function writeAll(file: number, bytes: Buffer): number {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  return bytes.length;
}
