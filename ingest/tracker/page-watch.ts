import type { Browser, Click, ClickTarget } from './browser.ts';
import { LINK_TEXT_MAX, ROUTER_DELAY_MS } from './limits.ts';

declare const addEventListener: Browser['addEventListener'];
declare const history: Browser['history'];

/** Calls `look` when the page is loaded and when its address may have changed. */
export function watchAddress(look: () => void): void {
  // A router that corrects the address at once, or sets the title a moment later, is given that moment.
  const lookSoon = () => void setTimeout(look, ROUTER_DELAY_MS);
  for (const name of ['pushState', 'replaceState'] as const) {
    const original = history[name];
    history[name] = function (...rest) {
      original.apply(this, rest);
      lookSoon();
    };
  }
  // Comes with changes of the hash, too.
  addEventListener('popstate', lookSoon);
  lookSoon();
}

/** What a click says: the name and the properties of an event, and what of a site's settings lets it be collected. */
export type ClickReader = (
  feature: 'outgoingLinks' | 'attributes',
  name: string,
  properties: Readonly<Record<string, string | undefined>>,
) => void;

/** Reads a click on a page of `hostname`, also a middle one, one that Enter makes, or one inside a shadow tree. */
export function readClick(event: Click, hostname: string, read: ClickReader): void {
  const targets = event.composedPath();
  const link = targets.find((target) => target.hostname);
  // biome-ignore lint/complexity/useOptionalChain: what es2018 makes of it is longer
  const tagged = targets.find((target) => target.dataset && target.dataset.track);
  // The middle button opens links and does nothing elsewhere; the right one does nothing.
  if (event.button > (link ? 1 : 0)) return;
  if (link && link.hostname !== hostname && /^http/.test(link.protocol as string))
    read('outgoingLinks', 'link_out', { href: link.href, text: textOf(link, targets[0]) });
  if (tagged) {
    const { track, ...properties } = tagged.dataset as Record<string, string>;
    read('attributes', track as string, properties);
  }
}

/** What can be read on a link. Cut by characters, not by halves of them: half a pair would be refused. */
function textOf(link: ClickTarget, target: ClickTarget = {}): string {
  // biome-ignore lint/performance/useDomNodeTextContent: what a visitor cannot see is not what was clicked
  return [...(link.innerText || link.title || target.alt || '')].slice(0, LINK_TEXT_MAX).join('');
}
