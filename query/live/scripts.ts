import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer } from '../../infra/http/http.ts';
import { addStaticAsset } from '../../infra/http/static-asset.ts';
import { projectRoot } from '../../infra/root.ts';

const MAX_AGE_S = 3_600;

/**
 * `GET /widget.js`, the custom element `<live-visitors>`, and `GET /wall.js` of the wall page. Both are built by `npm run build`
 * and read once, at startup, which fails without them.
 */
export function addScripts(http: HttpServer): void {
  http.announce({
    path: '/widget.js',
    title: 'Widget',
    about: 'Include it in a page to show how many visitors a site has now.',
  });
  // Any page may load the widget; the wall page is one of this service.
  addScript(http, 'widget', [
    ['access-control-allow-origin', '*'],
    ['cross-origin-resource-policy', 'cross-origin'],
  ]);
  addScript(http, 'wall', []);
}

function addScript(http: HttpServer, name: 'widget' | 'wall', headers: HeaderList): void {
  addStaticAsset(http, [`/${name}.js`], {
    body: readFileSync(join(projectRoot, `dist/query/${name}/${name}.js`)),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeS: MAX_AGE_S,
    headers,
    cors: headers.length > 0 ? [['access-control-allow-origin', '*']] : undefined,
  });
}
