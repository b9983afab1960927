// Builds the script of the wall page into dist/ and fails when it exceeds its size limit. Run by `npm run build`.
import { join } from 'node:path';
import { buildBrowserScript, projectRoot, reportSize } from '../../infra/http/browser-script.mjs';

/** The maximum size of the script, in bytes of gzip at level 9. */
const GZIP_MAX_BYTES = 6_144;

reportSize(
  'wall',
  buildBrowserScript('query/wall/app/wall.ts', join(projectRoot, 'dist/query/wall/wall.js'), {
    target: 'es2022',
  }),
  GZIP_MAX_BYTES,
);
