import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import type { OpenApiDocument } from './open-api.ts';
import { VIEWER_STYLE } from './viewer-style.ts';

/**
 * The page at `/documentation`: Scalar's API reference over `/openapi.json`. Its integration for Fastify is the package
 * that carries the built script; `@scalar/api-reference` brings 300 packages besides. From 1.63 on the script is no longer
 * a file of that package. The package names Node 22, but only browsers run what is used of it.
 */

export const VIEWER_SCRIPT_PATH = '/documentation/viewer.js';
const SCRIPT_FILE = 'node_modules/@scalar/fastify-api-reference/dist/js/standalone.js';

/** The viewer stays on this origin: no fonts, telemetry, agent or proxy of its maker's. */
const CONFIGURATION = {
  theme: 'none',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  operationTitleSource: 'summary',
  // The form for id and secret stands on top, and holds for all requests.
  authentication: { preferredSecurityScheme: [['clientId', 'clientSecret']] },
};

/**
 * What the page may load and run: scripts and answers of this origin. Its styles cannot be named by hash or nonce,
 * because the viewer makes them as it draws.
 */
export const VIEWER_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The viewer's script, as its package has it. */
export function viewerScript(root: string = projectRoot): Uint8Array {
  const path = join(root, SCRIPT_FILE);
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`the script of /documentation cannot be read from ${path}; run npm ci`, { cause: error });
  }
}

/** All of its addresses are relative, so that it also works below a path of a proxy. */
export function viewerPage({ info }: OpenApiDocument): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="application/json" href="openapi.json">
<style>${VIEWER_STYLE}</style>
</head>
<body>
<noscript><p>This page needs JavaScript. The same description, for programs: <a href="openapi.json">openapi.json</a>.</p></noscript>
<script type="application/json" id="api-reference" data-url="openapi.json" data-configuration="${attribute(CONFIGURATION)}"></script>
<script src="${VIEWER_SCRIPT_PATH.slice(1)}"></script>
</body>
</html>
`;
}

function attribute(value: unknown): string {
  return JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}
