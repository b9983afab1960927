import { withoutTrailingSlashes } from './trailing-slashes.ts';

/**
 * The name of an origin: without scheme, `www.` and trailing slash, in lower case; see `AllowedOrigins`. Takes time by the length.
 */
export function bareName(origin: string): string {
  const name = origin
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^www\./, '');
  return withoutTrailingSlashes(name);
}
