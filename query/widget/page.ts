/** The part of a browser that the widget uses, so that no other code of the project sees names such as `document`. */
export interface WidgetPage {
  readonly document: {
    readonly hidden: boolean;
    /** The running script element; null in a module. */
    readonly currentScript: { readonly src: string } | null;
    createElement(name: string): PageElement;
    createElementNS(namespace: string, name: string): PageElement;
    addEventListener(type: 'visibilitychange', listener: () => void): void;
    removeEventListener(type: 'visibilitychange', listener: () => void): void;
  };
  readonly location: { readonly href: string };
  readonly customElements: {
    get(name: string): unknown;
    define(name: string, element: abstract new () => unknown): void;
  };
  readonly WebSocket: new (url: string) => Channel;
  readonly EventSource: new (url: string) => Channel;
  readonly CSSStyleSheet: new () => StyleSheet;
  readonly HTMLElement: abstract new () => PageElement;
  readonly getComputedStyle: (element: PageElement) => { readonly direction: string };
}

/** The common interface of a WebSocket and an event source. */
export interface Channel {
  onopen: (() => void) | null;
  onmessage: ((message: { readonly data: string }) => void) | null;
  onerror: (() => void) | null;
  onclose?: (() => void) | null;
  close(): void;
}

export interface StyleSheet {
  replaceSync(text: string): void;
}

export interface PageElement {
  textContent: string | null;
  readonly lang?: string;
  readonly isConnected: boolean;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  append(...children: PageElement[]): void;
  replaceChildren(...children: PageElement[]): void;
  closest(selector: string): PageElement | null;
  attachShadow(options: { readonly mode: 'open' }): PageElement & {
    adoptedStyleSheets?: readonly StyleSheet[];
  };
}
