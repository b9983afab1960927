// Builds the browser script into dist/ and fails when it exceeds its size limit. Run by `npm run build`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

/** The maximum size of the script, in bytes of gzip at level 9. */
export const GZIP_MAX_BYTES = 2560;

// Properties of objects that neither the page nor the service sees; the build shortens them to one letter.
const INTERNAL_NAMES = ['isSending', 'leave', 'resume', 'send', 'takenAtMs', 'tries'];

const projectRoot = resolve(import.meta.dirname, '../..');

/** @typedef {{ readonly rawBytes: number, readonly gzipBytes: number }} ScriptSize */

/**
 * Builds the script into `outFile` and reports its size, without checking it.
 * @param {string} outFile
 * @returns {ScriptSize}
 */
export function buildTracker(outFile) {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  const { outputFiles } = buildSync({
    entryPoints: [join(projectRoot, 'ingest/tracker/tracker.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2018',
    // The project's tsconfig is for node; the browser script needs none.
    tsconfigRaw: '{}',
    define: { TRACKER_VERSION: JSON.stringify(version) },
    mangleProps: new RegExp(`^(${INTERNAL_NAMES.join('|')})$`),
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

function main() {
  const { rawBytes, gzipBytes } = buildTracker(join(projectRoot, 'dist/ingest/tracker/script.js'));
  const line = `browser script: ${rawBytes} bytes, ${gzipBytes} of at most ${GZIP_MAX_BYTES} with gzip\n`;
  if (gzipBytes <= GZIP_MAX_BYTES) process.stdout.write(line);
  else {
    process.stderr.write(line);
    process.exitCode = 1;
  }
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1])) main();
