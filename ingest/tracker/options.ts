import type { Dataset } from './browser.ts';
import type { TrackCall } from './delivery.ts';

/** The options of `init`, or of the script element's data attributes. */
export interface TrackerOptions {
  readonly clientId?: string;
  /** The URL of the service; by default the script's. */
  readonly apiUrl?: string;
  /** The path of calls below `apiUrl`; `/track` by default. */
  readonly trackPath?: string;
  readonly trackScreenViews?: boolean;
  readonly trackOutgoingLinks?: boolean;
  readonly trackAttributes?: boolean;
  readonly trackHashChanges?: boolean;
  /** Sends nothing before `ready()`. */
  readonly disabled?: boolean;
  /** Sends nothing before `identify()` or `ready()`. */
  readonly waitForProfile?: boolean;
  /** A call for which this returns false is not sent. */
  readonly filter?: (call: TrackCall) => unknown;
  /** Writes calls and errors to the console. */
  readonly debug?: boolean;
}

/** The data that the script collects automatically: the part of `GET /config/tracking` that it uses. */
export type Collection = Readonly<Partial<Record<Feature, unknown>>>;
export type Feature = 'screenViews' | 'outgoingLinks' | 'attributes' | 'hashChanges';

/** The collection of a site without settings. */
export const DEFAULT_COLLECTION: Collection = { screenViews: true };

/** Data attributes as options: `data-track-screen-views` is `trackScreenViews: true`. */
export function optionsOf(attributes: Dataset): TrackerOptions {
  const options: Record<string, unknown> = {};
  for (const name in attributes) options[name] = attributes[name] !== 'false' && (attributes[name] || true);
  return options;
}

/** The choices of the page's options, with `screenViews` for `trackScreenViews`; undefined when they leave it to the site's settings. */
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
