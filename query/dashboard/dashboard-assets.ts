import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { HttpServer } from '../../infra/http/http.ts';
import {
  addStaticAsset,
  addStaticFiles,
  FOREVER_S,
  type StaticAsset,
} from '../../infra/http/static-asset.ts';
import { projectRoot } from '../../infra/root.ts';

/** Built from `app/` by `npm run build`. */
const BUILT = join(projectRoot, 'dist/query/dashboard');
/** Short, so that readers see the new dashboard soon after an update of the service. */
const PAGE_MAX_AGE_S = 60;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/**
 * Adds the dashboard: its page at `/`, the same page for frames of other sites, and the files that it loads below `/dashboard`.
 * They are public and hold no figures. They are read once, at startup, which fails without them.
 */
export function addDashboard(http: HttpServer): void {
  const body = readFileSync(join(BUILT, 'page.html'));
  const addPage = (path: string, framers: string) =>
    addStaticAsset(http, [path], {
      body,
      contentType: 'text/html; charset=utf-8',
      maxAgeS: PAGE_MAX_AGE_S,
      headers: [
        ['content-security-policy', policyFor(framers)],
        ['referrer-policy', 'no-referrer'],
      ],
      cors: undefined,
    });
  addPage('/', "'none'");
  // It sends no cookie and has only the rights of its link, so a framing site gains nothing from tricking a person into a click.
  addPage('/shared-page', '*');
  const folder = join(BUILT, 'files');
  const files = readdirSync(folder).map((name): [string, StaticAsset] => [
    name,
    {
      body: readFileSync(join(folder, name)),
      contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
      maxAgeS: FOREVER_S,
      headers: [],
      cors: undefined,
    },
  ]);
  addStaticFiles(http, '/dashboard/:file', new Map(files));
}

/** The page loads from this origin only, and runs and styles nothing inline. */
function policyFor(framers: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framers}`,
  ].join('; ');
}
