// Builds the widget into dist/ and fails when it exceeds its size limit. Run by `npm run build`.
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBrowserScript, projectRoot, reportSize } from '../../infra/http/browser-script.mjs';

/** The maximum size of the script, in bytes of gzip at level 9. */
export const GZIP_MAX_BYTES = 3072;

/**
 * Builds the script into `outFile` and returns its size, without checking it.
 * @param {string} outFile
 */
export function buildWidget(outFile) {
  return buildBrowserScript('query/widget/widget.ts', outFile, { target: 'es2022' });
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1]))
  reportSize('widget', buildWidget(join(projectRoot, 'dist/query/widget/widget.js')), GZIP_MAX_BYTES);
