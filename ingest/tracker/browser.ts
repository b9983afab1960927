/**
 * What the script uses of a browser, and nothing more. Each file declares for itself which of these globals it touches,
 * so that no other code of the project takes a name such as `location` for its own.
 */
export interface Browser {
  readonly window: { op?: { q?: [name: string, ...rest: unknown[]][] } };
  readonly document: {
    readonly title: string;
    readonly referrer: string;
    /** The script element that is running; null in a module. */
    readonly currentScript: { readonly src: string; readonly dataset: Dataset } | null;
    /** The page is rendered ahead of a visit that may never come. Unknown to some browsers. */
    readonly prerendering?: boolean;
    addEventListener(type: 'prerenderingchange', listener: () => void): void;
  };
  readonly location: { readonly href: string; readonly hostname: string };
  readonly history: Record<'pushState' | 'replaceState', (...rest: unknown[]) => void>;
  readonly navigator: { readonly onLine: boolean };
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, text: string): void;
  };
  readonly addEventListener: <Type extends keyof BrowserEvents>(
    type: Type,
    listener: (event: BrowserEvents[Type]) => void,
    capture?: boolean,
  ) => void;
}

interface BrowserEvents {
  readonly click: Click;
  readonly auxclick: Click;
  readonly online: unknown;
  readonly pagehide: unknown;
  /** `persisted`: the page comes back from the back-forward cache. */
  readonly pageshow: { readonly persisted: boolean };
  readonly popstate: unknown;
  readonly visibilitychange: unknown;
}

export interface Click {
  readonly button: number;
  /** What was clicked and everything around it, the innermost first. */
  composedPath(): readonly ClickTarget[];
}

/** An element, the document or the window, with what the one or other of them has. */
export interface ClickTarget {
  readonly href?: string;
  readonly protocol?: string;
  readonly hostname?: string;
  readonly innerText?: string;
  readonly title?: string;
  readonly alt?: string;
  readonly dataset?: Dataset;
}

/** The `data-` attributes of an element, named in camel case. */
export type Dataset = Readonly<Record<string, string | undefined>>;
