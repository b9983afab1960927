// Builds the browser script into dist/ and fails when it exceeds its size limit. Run by `npm run build`.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBrowserScript, projectRoot, reportSize } from '../../infra/http/browser-script.mjs';

/** The maximum size of the script, in bytes of gzip at level 9. */
export const GZIP_MAX_BYTES = 2560;

// Properties of objects that neither the page nor the service sees; the build shortens them to one letter.
const INTERNAL_NAMES = ['isSending', 'leave', 'resume', 'send', 'takenAtMs', 'tries'];

/**
 * Builds the script into `outFile` and returns its size, without checking it.
 * @param {string} outFile
 */
export function buildTracker(outFile) {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  return buildBrowserScript('ingest/tracker/tracker.ts', outFile, {
    target: 'es2018',
    define: { TRACKER_VERSION: JSON.stringify(version) },
    mangleProps: new RegExp(`^(${INTERNAL_NAMES.join('|')})$`),
  });
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1]))
  reportSize(
    'browser script',
    buildTracker(join(projectRoot, 'dist/ingest/tracker/script.js')),
    GZIP_MAX_BYTES,
  );
