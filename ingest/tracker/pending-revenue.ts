import type { Browser } from './browser.ts';

declare const sessionStorage: Browser['sessionStorage'];

/** A purchase in progress. Its event id stays the same until delivery, so that it counts once. */
export type PendingRevenue = readonly [
  amount: number,
  properties: Readonly<Record<string, unknown>> | undefined,
  eventId: string,
];

const KEY = 'op-pending-revenue';

/** The pending revenue of this tab, over all pages of the site. */
export function readPendingRevenue(): readonly PendingRevenue[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) || '[]');
  } catch {
    return []; // Storage is blocked.
  }
}

/** Stores pending revenue for the next page of this tab, when the browser allows it. */
export function writePendingRevenue(pending: readonly PendingRevenue[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(pending));
  } catch {
    // Blocked or full: it lasts as long as the page.
  }
}
