// Builds a script for browsers, and reports an oversized one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

export const projectRoot = resolve(import.meta.dirname, '../..');

/** @typedef {{ readonly rawBytes: number, readonly gzipBytes: number }} ScriptSize gzip at level 9 */

/**
 * Builds one script into `outFile` and returns its size, without checking it.
 * @param {string} entry its first source file, from the root of the project
 * @param {string} outFile
 * @param {import('esbuild').BuildOptions} options the target, and other options of the script
 * @returns {ScriptSize}
 */
export function buildBrowserScript(entry, outFile, options) {
  const { outputFiles } = buildSync({
    ...options,
    entryPoints: [join(projectRoot, entry)],
    bundle: true,
    minify: true,
    format: 'iife',
    // The project's tsconfig is for node; a script for browsers needs none.
    tsconfigRaw: '{}',
    logLevel: 'warning',
    write: false,
  });
  const [script] = outputFiles;
  if (script === undefined) throw new Error('esbuild made no script');
  mkdirSync(dirname(outFile), { recursive: true });
  writeFileSync(outFile, script.contents);
  return {
    rawBytes: script.contents.byteLength,
    gzipBytes: gzipSync(script.contents, { level: 9 }).byteLength,
  };
}

/**
 * Prints the size of a script; above the maximum the process fails.
 * @param {string} name
 * @param {ScriptSize} size
 * @param {number} gzipMaxBytes
 */
export function reportSize(name, { rawBytes, gzipBytes }, gzipMaxBytes) {
  const line = `${name}: ${rawBytes} bytes, ${gzipBytes} of at most ${gzipMaxBytes} with gzip\n`;
  if (gzipBytes <= gzipMaxBytes) process.stdout.write(line);
  else {
    process.stderr.write(line);
    process.exitCode = 1;
  }
}
