import { useSignal } from '@preact/signals';
import { go, look } from '../../data/address.ts';
import { signedIn, site } from '../../data/session.ts';
import {
  colorsOf,
  elementCode,
  frameCode,
  imageCode,
  styleCode,
  TOKEN_WORD,
  tokenCode,
  WIDGET_LOOKS,
  type WidgetChoice,
  type WidgetColor,
  type WidgetLook,
  type WidgetPlace,
} from '../../data/widget-code.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { ChoiceField, ColorField, TextField } from '../../parts/fields.tsx';
import { WidgetPreview } from './widget-preview.tsx';

const COLOR_TITLES: Readonly<Record<WidgetColor, string>> = {
  color: 'Text',
  background: 'Background',
  dot: 'Dot',
  line: 'Line',
};

/** In the settings of the site, by the name of the field there. */
const ORIGINS = 'site’s “Origins that browsers may send from”';

/** The live number for other pages: a preview, and the code to copy. */
export function Widget() {
  const choice = useSignal<WidgetChoice>({ look: 'number', label: '', theme: {} });
  const { isPublic = false } = site.value ?? {};
  const siteId = look.value.site;
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '');
  return (
    <>
      <section class="card" aria-labelledby="widget-title">
        <h2 id="widget-title">Widget</h2>
        <div class="widget-maker">
          <Choices
            choice={choice.value}
            onChange={(change) => {
              choice.value = { ...choice.value, ...change };
            }}
          />
          <WidgetPreview siteId={siteId} isPublic={isPublic} choice={choice.value} />
        </div>
      </section>
      <Codes place={{ base, siteId, isPublic }} choice={choice.value} />
    </>
  );
}

/** A page's choices for the widget: look, words and colours. */
function Choices({
  choice: { look: chosen, label, theme },
  onChange,
}: {
  readonly choice: WidgetChoice;
  readonly onChange: (change: Partial<WidgetChoice>) => void;
}) {
  const hasWords = chosen !== 'number';
  return (
    <div class="form">
      <ChoiceField
        label="Look"
        name="look"
        value={chosen}
        choices={WIDGET_LOOKS}
        problem={undefined}
        onChoose={(next) => onChange({ look: next as WidgetLook })}
      />
      <TextField
        label="Words behind the number"
        name="label"
        hint={
          hasWords ? 'Empty: live now.' : 'This look shows none; screen readers say them. Empty: live now.'
        }
        value={label}
        problem={undefined}
        onInput={(text) => onChange({ label: text })}
      />
      <fieldset class="colors">
        <legend>Colours</legend>
        {[...colorsOf(chosen)].map(([name, preset]) => (
          <ColorField
            key={name}
            label={COLOR_TITLES[name]}
            name={name}
            value={theme[name]}
            preset={preset}
            presetWords={preset === undefined ? 'from the page' : 'preset'}
            problem={undefined}
            onChoose={(value) => {
              const { [name]: _before, ...others } = theme;
              onChange({ theme: value === undefined ? others : { ...others, [name]: value } });
            }}
          />
        ))}
      </fieldset>
    </div>
  );
}

function Codes({ place, choice }: { readonly place: WidgetPlace; readonly choice: WidgetChoice }) {
  const { isPublic, siteId } = place;
  const style = styleCode(choice);
  const wall = `live/${encodeURIComponent(siteId)}/embed?look=wall`;
  return (
    <section class="card codes" aria-labelledby="widget-code-title">
      <h2 id="widget-code-title">To copy</h2>
      {!isPublic && <PrivateWays place={place} />}
      <h3>Into a page</h3>
      {isPublic && <p class="quiet">It shows the number on pages of the {ORIGINS}.</p>}
      <CodeBlock text={elementCode(place, choice)} label="Element" />
      {style !== undefined && (
        <>
          <p class="quiet">The colours, for the style sheet of the page:</p>
          <CodeBlock text={style} label="Style" />
        </>
      )}
      <h3>As a frame</h3>
      <p class="quiet">
        Only pages of the {ORIGINS} may frame it.
        {style !== undefined && ' A frame keeps the preset colours.'}
      </p>
      <CodeBlock text={frameCode(place, choice)} label="Frame" />
      <h3>As an image, for a README</h3>
      {isPublic ? (
        <CodeBlock text={imageCode(place)} label="Image" />
      ) : (
        <p class="quiet">
          Only with a public number: a README cannot renew a token, which ends within a day.
        </p>
      )}
      <h3>On a wall</h3>
      <p class="quiet">
        <a href={wall} target="_blank" rel="noreferrer">
          The wall page
        </a>{' '}
        fills a screen that nobody touches.{' '}
        {isPublic
          ? 'A browser that is signed in also sees sources, and today beside the same day of last week.'
          : 'While the number is not public, it needs a browser that is signed in, or a token made with wall=true.'}
      </p>
    </section>
  );
}

/** Steps needed before the code shows a number that is not public. */
function PrivateWays({ place }: { readonly place: WidgetPlace }) {
  return (
    <>
      <p class="hint">
        The live number of this site is not public. Until you do one of these, your visitors see a dash:
      </p>
      <ol class="ways">
        <li>
          <strong>Make the number public.</strong> Anyone can then read it, with the ten pages that have most
          visitors and the last 30 minutes. The code needs no token.{' '}
          {signedIn.value?.role === 'root' ? (
            <button type="button" class="plain" onClick={() => go({ own: { section: 'site' } })}>
              Make it public
            </button>
          ) : (
            'A person who manages the site can do it.'
          )}
        </li>
        <li>
          <strong>Or keep it private, and let your server ask for a token</strong> each time it sends the
          page, and write it in place of <code>{TOKEN_WORD}</code>. It needs a read client and its secret,
          which must never be in a page. Who can open your page can use the token until it ends: here after an
          hour, after a day at most. A page that is open for longer must set the attribute <code>token</code>{' '}
          anew.
          <CodeBlock text={tokenCode(place)} label="Request for a token" />
        </li>
      </ol>
    </>
  );
}
