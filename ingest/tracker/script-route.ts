import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer } from '../../infra/http/http.ts';
import { addStaticAsset } from '../../infra/http/static-asset.ts';
import { projectRoot } from '../../infra/root.ts';

/** The paths of every installation. */
const USUAL_PATHS = ['/script.js', '/op1.js'];
/** Without route parameters, wildcards and queries. */
const PLAIN_PATH = /^\/[\w.~/-]+$/;
/** Built from `tracker.ts` by `npm run build`. */
const BUILT_SCRIPT = join(projectRoot, 'dist/ingest/tracker/script.js');

export interface ScriptRouteOptions {
  /** Further paths, for sites whose visitors' filter lists block the usual ones. */
  readonly paths: readonly string[];
  /** Headers of every collection endpoint; they let any page load the script. */
  readonly headers: HeaderList;
  /** Another file than the built one. */
  readonly scriptFile?: string;
}

/**
 * `GET /script.js`, `/op1.js` and further paths: the browser script. It is read and compressed once, at startup, which
 * fails without it.
 */
export function addScriptRoutes(http: HttpServer, options: ScriptRouteOptions): void {
  const { paths, headers, scriptFile = BUILT_SCRIPT } = options;
  const wrong = paths.find((path) => !PLAIN_PATH.test(path));
  if (wrong !== undefined) throw new Error(`not a valid path for the browser script: ${wrong}`);
  http.announce({
    path: '/script.js',
    title: 'Browser script',
    about: 'Include it in the pages of a site to send events.',
  });
  addStaticAsset(http, new Set([...USUAL_PATHS, ...paths]), {
    body: readFileSync(scriptFile),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeS: 3_600,
    headers: [...headers, ['cross-origin-resource-policy', 'cross-origin']],
    cors: headers,
  });
}
