import { useEffect, useRef } from 'preact/hooks';
import { attributesOf, propertiesOf, type WidgetChoice } from '../../data/widget-code.ts';

/** Changes are shown after a pause in typing, since each one opens a connection. */
const PAUSE_MS = 400;

const PAGES = [
  ['light', 'On a light page'],
  ['dark', 'On a dark page'],
] as const;

/**
 * The element itself, from the script that other pages load, on a light and on a dark page. Where the number is not public, it is seen
 * here because the browser is signed in.
 */
export function WidgetPreview({
  siteId,
  isPublic,
  choice,
}: {
  readonly siteId: string;
  readonly isPublic: boolean;
  readonly choice: WidgetChoice;
}) {
  useWidgetScript();
  return (
    <div class="widget-pages">
      {PAGES.map(([ground, title], index) => (
        // Both show the same, so one is enough for a reader of the page aloud.
        <figure class={`widget-page ${ground}`} key={ground} aria-hidden={index > 0 ? 'true' : undefined}>
          <figcaption>{title}</figcaption>
          <Shown attributes={attributesOf({ siteId }, choice)} properties={propertiesOf(choice)} />
        </figure>
      ))}
      {!isPublic && <p class="quiet">You see the number because you are signed in.</p>}
    </div>
  );
}

/** One element. It stays while its attributes change. */
function Shown({
  attributes,
  properties,
}: {
  readonly attributes: ReadonlyMap<string, string>;
  readonly properties: Readonly<Record<string, string>>;
}) {
  const place = useRef<HTMLDivElement>(null);
  const text = JSON.stringify([...attributes]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const present = place.current?.firstElementChild;
      const element = present ?? document.createElement('live-visitors');
      for (const name of element.getAttributeNames())
        if (!attributes.has(name)) element.removeAttribute(name);
      for (const [name, value] of attributes)
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
      if (element !== present) place.current?.replaceChildren(element);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return <div class="widget-preview" ref={place} style={properties} />;
}

function useWidgetScript(): void {
  useEffect(() => {
    if (document.querySelector('script[data-widget]') !== null) return;
    const script = document.createElement('script');
    script.src = 'widget.js';
    script.dataset.widget = '';
    document.head.append(script);
  }, []);
}
