import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/**
 * Writes a small file atomically: a reader, even after a power failure, finds the old text or the new one, never a
 * part. Only the owner of the file can read it.
 */
export function writeWhole(path: string, text: string): void {
  const aside = `${path}.${process.pid}.part`;
  const file = openSync(aside, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(aside, path);
}
