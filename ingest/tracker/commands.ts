import type { Browser, Click } from './browser.ts';
import { createDelivery, newEventId, type VisitorIds } from './delivery.ts';
import { load } from './load.ts';
import { type Collection, chosenCollection, DEFAULT_COLLECTION, type TrackerOptions } from './options.ts';
import { readClick, watchAddress } from './page-watch.ts';
import { type PendingRevenue, readPendingRevenue, writePendingRevenue } from './pending-revenue.ts';

declare const addEventListener: Browser['addEventListener'];
declare const document: Browser['document'];
declare const location: Browser['location'];
declare const screen: Browser['screen'];

declare global {
  /** The release, inserted by the build. */
  const TRACKER_VERSION: string;
}

type EventProperties = Readonly<Record<string, unknown>>;

/**
 * Starts tracking for one client: collects automatically what the settings allow, and returns the methods that a page
 * can call.
 *
 * One closure holds all state of visitor and page. Each further closure would cost 20 to 45 of the script's 2,560 bytes
 * for what they share.
 */
export function startTracker(
  options: TrackerOptions,
  apiUrl: string,
  attempt: (act: () => unknown) => unknown,
) {
  const { clientId, trackPath = '/track', filter } = options;
  const url = apiUrl + trackPath;
  const headers = {
    'service-client-id': clientId as string,
    'service-sdk-name': 'web',
    'service-sdk-version': TRACKER_VERSION,
  };
  let { disabled, waitForProfile } = options;
  let profileId: unknown;
  let globalProperties: EventProperties = {};
  let identity: VisitorIds = {};
  let pending = readPendingRevenue();
  let viewedPath: string | undefined;
  let viewedAddress = '';

  // Sending.

  const setPending = (changed: readonly PendingRevenue[]) => {
    pending = changed;
    writePendingRevenue(pending);
  };

  const sender = () => !disabled && (!waitForProfile || !!profileId) && { profileId };

  const delivery = createDelivery(url, headers, sender, (eventId, answer) => {
    if (pending[0]) setPending(pending.filter((revenueEntry) => revenueEntry[2] !== eventId));
    identity = { ...identity, ...answer };
  });

  const send = (type: string, payload: EventProperties) => {
    // A copy, because the page may change its objects while the call waits. It also drops undefined values.
    const copy = JSON.parse(JSON.stringify(payload));
    const call = { type, payload: { eventId: newEventId(), profileId, ...copy } };
    if (!filter || filter(call)) delivery.send(call);
  };

  const track = (name: string, properties?: EventProperties, eventId?: string) => {
    const { profileId: ownProfileId, groups, ...free } = { ...properties };
    send('track', {
      name,
      profileId: ownProfileId,
      groups,
      eventId,
      properties: {
        __referrer: document.referrer,
        // The path of a view, which the page may have made up, stays valid until the address changes.
        __path: location.href === viewedAddress ? viewedPath : location.href,
        // The language is in a header of the request.
        __timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        // biome-ignore lint/style/useTemplate: what es2018 makes of it is longer
        __screen: screen.width + 'x' + screen.height,
        ...globalProperties,
        ...free,
      },
    });
  };

  const screenView = (
    path?: string | EventProperties,
    properties?: EventProperties,
    address = location.href,
  ) => {
    if (typeof path !== 'string') screenView(address, path);
    else if (path !== viewedPath) {
      viewedPath = path;
      viewedAddress = address;
      track('screen_view', { __title: document.title, ...properties, __path: path });
    }
  };

  const revenue = (amount: number, properties?: EventProperties, eventId?: string) =>
    track('revenue', { __revenue: amount, ...properties }, eventId);

  const setGroups = (groupIds: readonly string[]) => send('assign_group', { groupIds });

  /** The service's id of the visitor's device or session; requested when no answer has named it yet. */
  const ask = (name: keyof VisitorIds) => async () => {
    if (sender() && !identity[name]) identity = await load(`${url}/device-id`, identity, headers);
    return identity[name] || '';
  };

  // Collecting.

  // Calls before the settings are known wait for them. Leaving the page decides immediately.
  const decided = new Promise<Collection>((decide) => {
    addEventListener('pagehide', () => decide(DEFAULT_COLLECTION));
    const settings = () => load(`${apiUrl}/config/tracking?clientId=${clientId}`, DEFAULT_COLLECTION);
    void Promise.resolve(chosenCollection(options) || settings()).then(decide);
  });

  const whenDecided = (act: (collection: Collection) => unknown) =>
    decided.then((collection) => attempt(() => act(collection)));

  const look = () => {
    const address = location.href;
    void whenDecided(({ screenViews, hashChanges }) => {
      // An empty hash names no page of its own.
      const ignored = hashChanges ? /#$/ : /#.*/;
      if (screenViews && address.replace(ignored, '') !== viewedAddress.replace(ignored, ''))
        screenView(address, {}, address);
    });
  };

  const onClick = (event: Click) =>
    attempt(() =>
      readClick(event, location.hostname, (feature, name, properties) =>
        whenDecided((collection) => collection[feature] && track(name, properties)),
      ),
    );

  const onLeave = () => {
    look();
    delivery.leave();
    // A view that was just seen is sent after that decision.
    void decided.then(delivery.leave);
  };

  watchAddress(look);
  // In the capture phase, because the page's own listeners may stop an event or remove its target.
  addEventListener('click', onClick, true);
  addEventListener('auxclick', onClick, true);
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    viewedPath = viewedAddress = '';
    look();
  });
  addEventListener('online', delivery.resume);
  addEventListener('pagehide', onLeave);
  addEventListener('visibilitychange', onLeave);

  return {
    track,
    screenView,
    revenue,
    setGroups,
    setGroup: (...groupIds: string[]) => setGroups(groupIds),
    upsertGroup: (group: EventProperties) => send('group', group),
    increment: (change: EventProperties) => send('increment', change),
    decrement: (change: EventProperties) => send('decrement', change),
    identify: (profile: EventProperties) => {
      profileId = profile.profileId;
      delivery.resume();
      // An id by itself does not update the profile.
      if (Object.keys(profile).length > 1)
        send('identify', {
          ...profile,
          properties: { ...globalProperties, ...(profile.properties as object) },
        });
    },
    setGlobalProperties: (properties: EventProperties) => {
      globalProperties = { ...globalProperties, ...properties };
    },
    pendingRevenue: (amount: number, properties?: EventProperties) =>
      setPending([...pending, [amount, properties, newEventId()]]),
    flushRevenue: () => {
      for (const revenueEntry of pending) revenue(...revenueEntry);
    },
    clearRevenue: () => setPending([]),
    getDeviceId: ask('deviceId'),
    getSessionId: ask('sessionId'),
    ready: () => {
      disabled = waitForProfile = false;
      delivery.resume();
    },
    clear: () => {
      profileId = undefined;
      identity = {};
    },
  };
}
