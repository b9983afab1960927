/** The name of an origin: without scheme, `www.` and trailing slash, in lower case; see `AllowedOrigins`. */
export function bareName(origin: string): string {
  return origin
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^www\./, '')
    .replace(/\/+$/, '');
}
