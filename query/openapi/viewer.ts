import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import { VIEWER_STYLE } from './viewer-style.ts';

/**
 * The page at `/documentation`: Scalar's API reference over `/openapi.json`. The built script comes from Scalar's
 * Fastify package, because `@scalar/api-reference` would add 300 packages. From version 1.63 on the package no longer
 * contains the script as a file. The package asks for Node 22, but only browsers run the part that we use.
 */

export const VIEWER_SCRIPT_PATH = '/documentation/viewer.js';
const SCRIPT_FILE = 'node_modules/@scalar/fastify-api-reference/dist/js/standalone.js';

/** Keeps the viewer on this origin: no external fonts, telemetry, agent or proxy. */
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
  // Shows one form for id and secret at the top, which applies to all requests.
  authentication: { preferredSecurityScheme: [['clientId', 'clientSecret']] },
};

/**
 * The page loads and runs scripts and responses of this origin only. Its styles cannot be allowed by hash or nonce,
 * because the viewer generates them while it renders.
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

/**
 * Path of the viewer's script in its package.
 * @throws {Error} there is none
 */
export function viewerScriptFile(root: string = projectRoot): string {
  const path = join(root, SCRIPT_FILE);
  if (existsSync(path)) return path;
  throw new Error(`there is no script of the documentation at ${path}; run npm ci`);
}

/** All URLs are relative, so that the page also works below a path of a reverse proxy. */
export function viewerPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} API reference</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="application/json" href="openapi.json">
<style>${VIEWER_STYLE}</style>
</head>
<body>
<noscript><p>This page requires JavaScript. The API description is also available as <a href="openapi.json">openapi.json</a>.</p></noscript>
<script type="application/json" id="api-reference" data-url="openapi.json" data-configuration="${attribute(CONFIGURATION)}"></script>
<script src="${VIEWER_SCRIPT_PATH.slice(1)}"></script>
</body>
</html>
`;
}

function attribute(value: unknown): string {
  return JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}
