import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/**
 * Writes a small file so that a reader, or a power cut, finds the old text or the new one and never a part. Only its
 * owner may read it.
 * @param {string} path
 * @param {string} text
 */
export function writeWhole(path, text) {
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
