// Builds the widget into dist/ and fails when it exceeds its size limit. Run by `npm run build`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

/** The maximum size of the script, in bytes of gzip at level 9. */
export const GZIP_MAX_BYTES = 3072;

const projectRoot = resolve(import.meta.dirname, '../..');

/**
 * Builds the script into `outFile` and reports its size, without checking it.
 * @param {string} outFile
 * @returns {{ readonly rawBytes: number, readonly gzipBytes: number }}
 */
export function buildWidget(outFile) {
  const { outputFiles } = buildSync({
    entryPoints: [join(projectRoot, 'query/widget/widget.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    // The project's tsconfig is for node; the script needs none.
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

function main() {
  const { rawBytes, gzipBytes } = buildWidget(join(projectRoot, 'dist/query/widget/widget.js'));
  const line = `widget: ${rawBytes} bytes, ${gzipBytes} of at most ${GZIP_MAX_BYTES} with gzip\n`;
  if (gzipBytes <= GZIP_MAX_BYTES) process.stdout.write(line);
  else {
    process.stderr.write(line);
    process.exitCode = 1;
  }
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1])) main();
