import type { Browser } from './browser.ts';

declare const sessionStorage: Browser['sessionStorage'];

/** A purchase that has begun. Its event id stays the same until it is delivered, so that it counts once. */
export type PendingRevenue = readonly [
  amount: number,
  properties: Readonly<Record<string, unknown>> | undefined,
  eventId: string,
];

const KEY = 'op-pending-revenue';

/** What is pending in this tab, from whatever page of the site. */
export function readPendingRevenue(): readonly PendingRevenue[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) || '[]');
  } catch {
    return []; // Storage is blocked.
  }
}

/** Keeps what is pending for the next page of this tab, where the browser lets us. */
export function writePendingRevenue(pending: readonly PendingRevenue[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(pending));
  } catch {
    // Blocked or full: then it lasts as long as the page.
  }
}
