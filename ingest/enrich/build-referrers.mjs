// Makes referrers.json, the services that visitors come from. Run it after a change to one of its sources:
//
//     node ingest/enrich/build-referrers.mjs
//
// - matomo/: search engines and social networks as Matomo collects them
//   (github.com/matomo-org/searchengine-and-social-list), CC0-1.0, version 3.14.0: the two files of Debian's package
//   matomo-searchengine-and-social-list, unchanged.
// - referrers-overlay.json: ours. `services` are missing in Matomo or override it; `matomoNames` renames its services;
//   `omittedHosts` are left out of it: names of apps, and providers' portals, which also show mail and news.
//
// A host below another host of either source is left out, too: it belongs to the wider one, like Google's images to
// Google. As in Google Analytics, forums, messengers and TikTok are social, and YouTube is video.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** @typedef {Record<string, Record<string, string>>} Services names of services with their host patterns, by type */

/** The text of referrers.json as its sources make it now. */
export function referrersText() {
  /** @type {{ services: Services, apps: object, sourceWords: object, matomoNames: Record<string, string>, omittedHosts: string }} */
  const overlay = JSON.parse(read('referrers-overlay.json'));
  const { services, apps, sourceWords } = overlay;
  const taken = new Set([...hostPatternsIn(services), ...overlay.omittedHosts.split(' ')]);
  const listed = matomoServices();
  const stale = Object.keys(overlay.matomoNames).filter(
    (theirs) => !listed.some(({ name }) => name === theirs),
  );
  if (stale.length > 0) throw new Error(`Matomo lists no service of these names: ${stale.join(', ')}`);
  const found = listed.filter(({ hostPattern }) => !taken.has(hostPattern));
  const known = new Set([...hostPatternsIn(services), ...found.map(({ hostPattern }) => hostPattern)]);
  for (const { type, name, hostPattern } of found) {
    const named = services[type];
    if (named === undefined) throw new Error(`the overlay has no type ${type}`);
    if (taken.has(hostPattern) || parentsOf(hostPattern).some((parent) => known.has(parent))) continue;
    taken.add(hostPattern);
    const ourName = overlay.matomoNames[name] ?? name;
    named[ourName] = named[ourName] === undefined ? hostPattern : `${named[ourName]} ${hostPattern}`;
  }
  return `${JSON.stringify({ services, apps, sourceWords }, null, 2)}\n`;
}

function matomoServices() {
  /** @type {Record<string, string[]>} */
  const networks = parse(read('matomo/Socials.yml'));
  /** @type {Record<string, { urls: string[] }[]>} */
  const engines = parse(read('matomo/SearchEngines.yml'));
  return [
    ...Object.entries(networks).map(([name, urls]) => ({ type: 'social', name, urls })),
    ...Object.entries(engines).map(([name, pages]) => ({
      type: 'search',
      name,
      urls: pages.flatMap(({ urls }) => urls),
    })),
  ].flatMap(({ type, name, urls }) => urls.map((url) => ({ type, name, hostPattern: hostPatternOf(url) })));
}

/**
 * Matomo writes `{}` for a country. `www.` and a country in front are removed, because a pattern covers the hosts below
 * it.
 * @param {string} url
 */
function hostPatternOf(url) {
  return url
    .replace(/^(www|\{\})\./, '')
    .replace('.{}', '.*')
    .replace(/\/$/, '');
}

/**
 * The host patterns that cover a host pattern, as referrer-list.ts looks them up.
 * @param {string} hostPattern
 */
function parentsOf(hostPattern) {
  const [host = ''] = hostPattern.split('/');
  const labels = host.split('.');
  return labels
    .flatMap((_, start) => {
      const parent = labels.slice(start);
      return [parent, [...parent.slice(0, -1), '*'], [...parent.slice(0, -2), '*']];
    })
    .map((parent) => parent.join('.'))
    .filter((parent) => parent !== hostPattern);
}

/** @param {Services} services */
function hostPatternsIn(services) {
  return Object.values(services).flatMap((named) =>
    Object.values(named).flatMap((hostPatterns) => hostPatterns.split(' ')),
  );
}

/** @param {string} file */
function read(file) {
  return readFileSync(join(import.meta.dirname, file), 'utf8');
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(join(import.meta.dirname, 'referrers.json'), referrersText());
}
