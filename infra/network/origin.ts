/**
 * Whether a page of `origin` may use what lists these origins, as the `cors` of a site does. Scheme, `www.`, case and trailing
 * slash do not matter. `*` allows any origin, `*.example.com` any name below example.com but not that name itself. An
 * empty origin is never allowed.
 */
export function originAllowed(entries: readonly string[], origin: string): boolean {
  if (origin === '') return false;
  const name = bareName(origin);
  return entries.some((entry) => entryAllows(entry, name));
}

function entryAllows(entry: string, name: string): boolean {
  if (entry.trim() === '*') return true;
  const allowed = bareName(entry);
  if (!allowed.startsWith('*.')) return allowed !== '' && allowed === name;
  // The dot stays in the suffix, so that `*.example.com` does not allow evil-example.com.
  const suffix = allowed.slice(1);
  return name.length > suffix.length && name.endsWith(suffix) && !name.startsWith('.');
}

function bareName(origin: string): string {
  return origin
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^www\./, '')
    .replace(/\/+$/, '');
}
