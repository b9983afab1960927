import { createHash } from 'node:crypto';
import { release } from '../root.ts';
import type { Announcement, HttpServer } from './http.ts';
import { addStaticAsset } from './static-asset.ts';

/** The page for a person who opens the base URL: the services of this process, and links to more. */

/** Short, so that readers see the new page soon after an update of the service. */
const MAX_AGE_S = 60;

const STYLE = `
:root { color-scheme: light dark; --ground: #ffffff; --text: #1b1f24; --quiet: #4d5661; --link: #0a4fa3; --line: #c8d0d9; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12161b; --text: #e6e9ed; --quiet: #adb6c1; --link: #86bdff; --line: #3d4650; }
}
body { margin: 0 auto; padding: 2rem 1rem; max-width: 40rem; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.75rem; }
p { margin: 0.25rem 0 0; color: var(--quiet); }
ul { margin: 1.5rem 0 0; padding: 0; list-style: none; }
li { padding: 0.75rem 0; border-top: 1px solid var(--line); }
a { color: var(--link); font-weight: 600; display: inline-block; padding: 0.25rem 0; }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; font-size: 0.875rem; }
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  // The empty icon, so that the browser asks for none.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Adds a page with links to the announcements so far: `GET /`, or `GET /help` where a service has a page at `/`. */
export function addStartPage(http: HttpServer): void {
  const hasOther = http.routes().some(({ pattern }) => pattern === '/');
  addStaticAsset(http, [hasOther ? '/help' : '/'], {
    body: Buffer.from(startPage(http.announced)),
    contentType: 'text/html; charset=utf-8',
    maxAgeS: MAX_AGE_S,
    headers: [
      ['content-security-policy', POLICY],
      ['referrer-policy', 'no-referrer'],
    ],
    cors: undefined,
  });
}

/** All URLs are relative, so that the page also works below a path of a reverse proxy. */
function startPage(announced: readonly Announcement[]): string {
  const links = announced.map(
    ({ path, title, about }) =>
      `<li><a href="${escaped(path.slice(1))}">${escaped(title)}</a> <code>${escaped(path)}</code><p>${escaped(about)}</p></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>footfall</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>footfall</h1>
<p>Real-time web analytics, release ${escaped(release())}. This process serves:</p>
<ul>
${links.join('\n')}
</ul>
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
