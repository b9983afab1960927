import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeaderList, HttpServer } from '../../infra/http/http.ts';
import { addStaticAsset } from '../../infra/http/static-asset.ts';
import { projectRoot } from '../../infra/root.ts';

/** Where every installation has the script. */
const USUAL_PATHS = ['/script.js', '/op1.js'];
/** No parameter or wildcard of a route, no query. */
const PLAIN_PATH = /^\/[\w.~/-]+$/;
/** What `npm run build` made of `tracker.ts`. */
const BUILT_SCRIPT = join(projectRoot, 'dist/ingest/tracker/script.js');

export interface ScriptRouteOptions {
  /** Paths besides the usual ones, for sites whose visitors' filter lists block those. */
  readonly paths: readonly string[];
  /** What goes out with each answer of a collection endpoint; lets every page load the script. */
  readonly headers: HeaderList;
  /** The script's file, where it is not the one that the build makes. */
  readonly scriptFile?: string;
}

/**
 * `GET /script.js`, `/op1.js` and further paths: the browser script. It is read and compressed once, before the service
 * listens; without it there is no start.
 */
export function addScriptRoutes(http: HttpServer, options: ScriptRouteOptions): void {
  const { paths, headers, scriptFile = BUILT_SCRIPT } = options;
  const wrong = paths.find((path) => !PLAIN_PATH.test(path));
  if (wrong !== undefined) throw new Error(`not a path for the browser script: ${wrong}`);
  addStaticAsset(http, new Set([...USUAL_PATHS, ...paths]), {
    body: readFileSync(scriptFile),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeS: 3_600,
    headers: [...headers, ['cross-origin-resource-policy', 'cross-origin']],
    cors: headers,
  });
}
