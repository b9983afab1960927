/**
 * The parts of a browser that the script uses. Each file declares the globals that it touches, so no other code of the
 * project sees names like `location`.
 */
export interface Browser {
  readonly window: { op?: { q?: [name: string, ...rest: unknown[]][] } };
  readonly document: {
    readonly title: string;
    readonly referrer: string;
    /** The running script element; null in a module. */
    readonly currentScript: { readonly src: string; readonly dataset: Dataset } | null;
    /** The page is prerendered for a visit that may never come. Unknown to some browsers. */
    readonly prerendering?: boolean;
    addEventListener(type: 'prerenderingchange', listener: () => unknown): void;
  };
  readonly location: { readonly href: string; readonly hostname: string };
  readonly history: Record<'pushState' | 'replaceState', (...rest: unknown[]) => void>;
  readonly navigator: { readonly onLine: boolean };
  /** In CSS pixels. */
  readonly screen: { readonly width: number; readonly height: number };
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
  /** `persisted`: the page is restored from the back-forward cache. */
  readonly pageshow: { readonly persisted: boolean };
  readonly popstate: unknown;
  readonly visibilitychange: unknown;
}

export interface Click {
  readonly button: number;
  /** The clicked target and everything around it, the innermost first. */
  composedPath(): readonly ClickTarget[];
}

/** An element, the document or the window; not every field exists on each. */
export interface ClickTarget {
  readonly href?: string;
  readonly protocol?: string;
  readonly hostname?: string;
  readonly innerText?: string;
  readonly title?: string;
  readonly alt?: string;
  readonly dataset?: Dataset;
}

/** An element's `data-` attributes, named in camel case. */
export type Dataset = Readonly<Record<string, string | undefined>>;
