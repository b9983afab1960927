import { createHash } from 'node:crypto';
import type { Site } from '../../infra/accounts/accounts.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { escapedXml } from './badge.ts';
import type { EmbedQuery } from './live-api.ts';

const STYLE =
  ':root{color-scheme:light dark}body{margin:0;padding:4px;font:16px/1.4 system-ui,sans-serif;background:transparent}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** The name of a host, with a port or a leading wildcard; nothing else may become part of the policy. */
const HOST = /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*(?::\d{1,5})?$/;

/** A page that contains the widget alone, for a frame. Pages of the site's `cors` list may frame it. */
export function embedAnswer(
  { id, name, cors }: Pick<Site, 'id' | 'name' | 'cors'>,
  { token, look, label }: EmbedQuery,
): { readonly text: string; readonly headers: HeaderList } {
  const attributes = [
    ['site', id],
    ['look', look],
    ['label', label],
    ['token', token ?? ''],
  ]
    .filter(([, value]) => value !== '')
    .map(([attribute, value = '']) => ` ${attribute}="${escapedXml(value)}"`);
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Live visitors of ${escapedXml(name)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
<script async src="../../widget.js"></script>
</head>
<body><live-visitors${attributes.join('')}></live-visitors></body>
</html>
`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framersOf(cors)}`,
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

/** The entries of a `cors` list as sources of a policy: with and without `www.`, of either scheme. */
function framersOf(cors: readonly string[]): string {
  if (cors.some((entry) => entry.trim() === '*')) return '*';
  const hosts = cors
    .map((entry) =>
      entry
        .trim()
        .toLowerCase()
        .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
        .replace(/^www\./, '')
        .replace(/\/+$/, ''),
    )
    .filter((host) => HOST.test(host));
  const sources = hosts.flatMap((host) =>
    (host.startsWith('*.') ? [host] : [host, `www.${host}`]).flatMap((name) => [
      `http://${name}`,
      `https://${name}`,
    ]),
  );
  return ["'self'", ...sources].join(' ');
}
