import type { Dataset } from './browser.ts';
import type { TrackCall } from './delivery.ts';

/** What a page says to `init`, or in the data attributes of the script element. */
export interface TrackerOptions {
  readonly clientId?: string;
  /** Where the service answers; by default where the script came from. */
  readonly apiUrl?: string;
  /** Where below `apiUrl` calls go, `/track` by default. */
  readonly trackPath?: string;
  readonly trackScreenViews?: boolean;
  readonly trackOutgoingLinks?: boolean;
  readonly trackAttributes?: boolean;
  readonly trackHashChanges?: boolean;
  /** Sends nothing before `ready()`. */
  readonly disabled?: boolean;
  /** Sends nothing before `identify()` or `ready()`. */
  readonly waitForProfile?: boolean;
  /** A call for which this is false is not sent. */
  readonly filter?: (call: TrackCall) => unknown;
  /** Writes calls and failures to the console. */
  readonly debug?: boolean;
}

/** What the script collects by itself: the part of `GET /config/tracking` that it obeys. */
export type Collection = Readonly<Partial<Record<Feature, unknown>>>;
export type Feature = 'screenViews' | 'outgoingLinks' | 'attributes' | 'hashChanges';

/** What a site collects that says nothing else. */
export const DEFAULT_COLLECTION: Collection = { screenViews: true };

/** Data attributes as options: `data-track-screen-views` is `trackScreenViews: true`. */
export function optionsOf(attributes: Dataset): TrackerOptions {
  const options: Record<string, unknown> = {};
  for (const name in attributes) options[name] = attributes[name] !== 'false' && (attributes[name] || true);
  return options;
}

/** What the page chose, `trackScreenViews` being `screenViews`; undefined when it leaves that to its site. */
export function chosenCollection(options: TrackerOptions): Collection | undefined {
  let chosen: Collection | undefined;
  for (const name in options)
    if (/^track[^P]/.test(name))
      chosen = {
        ...chosen,
        [(name[5] as string).toLowerCase() + name.slice(6)]: options[name as keyof TrackerOptions],
      };
  return chosen;
}
