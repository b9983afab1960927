import { createHash } from 'node:crypto';
import type { Site } from '../../infra/accounts/accounts.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { bareName } from '../../infra/network/origin.ts';
import { escapedXml } from './badge.ts';
import type { EmbedQuery } from './live-api.ts';
import { wallBody } from './wall-page.ts';
import { WALL_STYLE } from './wall-style.ts';

const WIDGET_STYLE = withHash(
  ':root{color-scheme:light dark}body{margin:0;padding:4px;font:16px/1.4 system-ui,sans-serif;background:transparent}',
);
const HASHED_WALL_STYLE = withHash(WALL_STYLE);
/** The name of a host, with a port or a leading wildcard; nothing else may become part of the policy. */
const HOST = /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*(?::\d{1,5})?$/;

/** A page that contains only the widget, for a frame, or the wall page. Pages of the site's `cors` list may frame it. */
export function embedAnswer(
  site: Pick<Site, 'id' | 'name' | 'cors'>,
  query: EmbedQuery,
  isWhole: boolean,
): { readonly text: string; readonly headers: HeaderList } {
  const isWall = query.look === 'wall';
  const { style, hash } = isWall ? HASHED_WALL_STYLE : WIDGET_STYLE;
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Live visitors of ${escapedXml(site.name)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<script ${isWall ? 'defer' : 'async'} src="../../${isWall ? 'wall' : 'widget'}.js"></script>
</head>
<body>${isWall ? wallBody(site, query, isWhole) : widgetElement(site, query)}</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'sha256-${hash}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framersOf(site.cors)}`,
  ].join('; ');
  return {
    text,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['content-security-policy', policy],
      ['referrer-policy', 'no-referrer'],
    ],
  };
}

/** A style, and its hash for the policy of the page. */
function withHash(style: string): { readonly style: string; readonly hash: string } {
  return { style, hash: createHash('sha256').update(style).digest('base64') };
}

function widgetElement({ id }: Pick<Site, 'id'>, { token = '', look, label }: EmbedQuery): string {
  const attributes = [
    ['site', id],
    ['look', look],
    ['label', label],
    ['token', token],
  ]
    .filter(([, value]) => value !== '')
    .map(([attribute, value = '']) => ` ${attribute}="${escapedXml(value)}"`);
  return `<live-visitors${attributes.join('')}></live-visitors>`;
}

/** The entries of a `cors` list as sources of a policy: with and without `www.`, of either scheme. */
function framersOf(cors: readonly string[]): string {
  if (cors.some((entry) => entry.trim() === '*')) return '*';
  const hosts = cors.map(bareName).filter((host) => HOST.test(host));
  const sources = hosts.flatMap((host) =>
    (host.startsWith('*.') ? [host] : [host, `www.${host}`]).flatMap((name) => [
      `http://${name}`,
      `https://${name}`,
    ]),
  );
  return ["'self'", ...sources].join(' ');
}
