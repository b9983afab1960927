import type { Browser, Click, ClickTarget } from './browser.ts';
import { LINK_TEXT_MAX, ROUTER_DELAY_MS } from './limits.ts';

declare const addEventListener: Browser['addEventListener'];
declare const history: Browser['history'];

/** Calls `look` when the page is loaded and whenever its address may have changed. */
export function watchAddress(look: () => void): void {
  // A delay in which a router may correct the address or set the title.
  const lookSoon = () => setTimeout(look, ROUTER_DELAY_MS);
  for (const name of ['pushState', 'replaceState'] as const) {
    const original = history[name];
    history[name] = function (...rest) {
      original.apply(this, rest);
      lookSoon();
    };
  }
  // Also fires when the hash changes.
  addEventListener('popstate', lookSoon);
  lookSoon();
}

/** Receives an event found in a click: its name, its properties, and the setting that allows it. */
export type ClickReader = (
  feature: 'outgoingLinks' | 'attributes',
  name: string,
  properties: Readonly<Record<string, string | undefined>>,
) => void;

/** Reads a click on a page of `hostname`, including middle clicks, the Enter key and clicks in a shadow tree. */
export function readClick(event: Click, hostname: string, read: ClickReader): void {
  const targets = event.composedPath();
  const link = targets.find((target) => target.hostname);
  // biome-ignore lint/complexity/useOptionalChain: what es2018 makes of it is longer
  const tagged = targets.find((target) => target.dataset && target.dataset.track);
  // The middle button only opens links; the right button does nothing.
  if (event.button > (link ? 1 : 0)) return;
  if (link && link.hostname !== hostname && /^http/.test(link.protocol as string))
    read('outgoingLinks', 'link_out', { href: link.href, text: textOf(link, targets[0]) });
  if (tagged) {
    const { track, ...properties } = tagged.dataset as Record<string, string>;
    read('attributes', track as string, properties);
  }
}

/** The visible text of a link, cut between characters: the service rejects a lone surrogate. */
function textOf(link: ClickTarget, target: ClickTarget = {}): string {
  // biome-ignore lint/performance/useDomNodeTextContent: what a visitor cannot see is not what was clicked
  return [...(link.innerText || link.title || target.alt || '')].slice(0, LINK_TEXT_MAX).join('');
}
