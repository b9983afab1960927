import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { go, look } from '../../data/address.ts';
import { signedIn, site } from '../../data/session.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { bound, ChoiceField, chosen, TextField } from '../../parts/fields.tsx';

const LOOKS = [
  ['number', 'number'],
  ['badge', 'badge'],
  ['sparkline', 'number with the last 30 minutes'],
  ['pages', 'number with the pages that are read'],
] as const;
const PAUSE_MS = 400;

/** The live number for other pages: a preview, and the code to copy. */
export function Widget() {
  const looks = useSignal<string>('number');
  const label = useSignal('');
  const { isPublic = false } = site.value ?? {};
  const siteId = look.value.site;
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const attributes = [
    `site="${siteId}"`,
    ...(looks.value === 'number' ? [] : [`look="${looks.value}"`]),
    ...(label.value === ''
      ? []
      : [`label="${label.value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`]),
  ];
  const element = `<script async src="${base}/widget.js"></script>\n<live-visitors ${attributes.join(' ')}></live-visitors>`;
  const frame = `<iframe src="${base}/live/${siteId}/embed" title="Live visitors" width="480" height="320" style="border:0"></iframe>`;
  const wall = `live/${encodeURIComponent(siteId)}/embed?look=wall`;
  const badge = `![live visitors](${base}/live/${siteId}.svg)`;
  return (
    <>
      <section class="card" aria-labelledby="widget-title">
        <h2 id="widget-title">Widget</h2>
        {!isPublic && (
          <p class="hint">
            The live number of this site is not public, so other pages need a token beside the site.{' '}
            {signedIn.value?.role === 'root' && (
              <button type="button" class="plain" onClick={() => go({ own: { section: 'site' } })}>
                Make it public
              </button>
            )}
          </p>
        )}
        <div class="form">
          <ChoiceField label="Look" name="look" {...chosen(looks)} choices={LOOKS} problem={undefined} />
          <TextField
            label="Words behind the number"
            name="label"
            hint="Empty: live now."
            {...bound(label)}
            problem={undefined}
          />
        </div>
        {isPublic && <Preview siteId={siteId} look={looks.value} label={label.value} />}
      </section>
      <section class="card" aria-labelledby="widget-code-title">
        <h2 id="widget-code-title">To copy</h2>
        <h3>Into a page</h3>
        <CodeBlock text={element} label="Element" />
        <h3>As a frame</h3>
        <CodeBlock text={frame} label="Frame" />
        <h3>As an image, for a README</h3>
        <CodeBlock text={badge} label="Image" />
        <h3>On a wall</h3>
        <p class="hint">
          <a href={wall} target="_blank" rel="noreferrer">
            The wall page
          </a>{' '}
          fills a screen that nobody touches. A browser that is signed in also sees sources, and today beside
          the same day of last week.
        </p>
      </section>
    </>
  );
}

/** The element itself, from the script that other pages load. */
function Preview({
  siteId,
  look: shown,
  label,
}: {
  readonly siteId: string;
  readonly look: string;
  readonly label: string;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.querySelector('script[data-widget]') !== null) return;
    const script = document.createElement('script');
    script.src = 'widget.js';
    script.dataset.widget = '';
    document.head.append(script);
  }, []);
  useEffect(() => {
    // After a pause, since each one opens a connection.
    const timer = setTimeout(() => {
      const element = document.createElement('live-visitors');
      element.setAttribute('site', siteId);
      element.setAttribute('look', shown);
      if (label !== '') element.setAttribute('label', label);
      place.current?.replaceChildren(element);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [siteId, shown, label]);
  return <div class="widget-preview" ref={place} role="img" aria-label="Preview" />;
}
