import { signal } from '@preact/signals';
import { follow } from '../../../widget/connection.ts';

/** Live visitors of the site that is looked at; undefined until the number is known. */
export const liveVisitors = signal<number | undefined>(undefined);

/** Follows the live number of a site until the returned function is called. */
export function followLive(siteId: string): () => void {
  liveVisitors.value = undefined;
  const { href } = new URL(`live/${encodeURIComponent(siteId)}`, document.baseURI);
  return follow(href, '', (visitors) => {
    liveVisitors.value = visitors;
  });
}
