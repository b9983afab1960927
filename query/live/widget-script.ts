import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpServer } from '../../infra/http/http.ts';
import { addStaticAsset } from '../../infra/http/static-asset.ts';
import { projectRoot } from '../../infra/root.ts';

/** Built from `../widget/widget.ts` by `npm run build`. */
const BUILT_SCRIPT = join(projectRoot, 'dist/query/widget/widget.js');

/** `GET /widget.js`: the custom element `<live-visitors>`. It is read once, at startup, which fails without it. */
export function addWidgetScript(http: HttpServer): void {
  http.announce({
    path: '/widget.js',
    title: 'Widget',
    about: 'Include it in a page to show how many visitors a site has now.',
  });
  addStaticAsset(http, ['/widget.js'], {
    body: readFileSync(BUILT_SCRIPT),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeS: 3_600,
    headers: [
      ['access-control-allow-origin', '*'],
      ['cross-origin-resource-policy', 'cross-origin'],
    ],
    cors: [['access-control-allow-origin', '*']],
  });
}
