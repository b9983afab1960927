import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { hashOf, look, UNFILTERED } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { count, NONE } from '../data/format.ts';
import { useSaving } from '../data/saving.ts';
import { type SharedLink, type SignedInSite, unlock } from '../data/session.ts';
import { bound, TextField } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Keys } from '../parts/keys.tsx';
import { Overview } from './overview.tsx';

const LIVE_EVERY_MS = 5_000;

/** The overview of a site for people without an account: figures, and nothing about single people. */
export function Shared({ site }: { readonly site: SignedInSite }) {
  useEffect(() => {
    document.title = site.name;
  }, [site]);
  const live = useAnswer<{ readonly visitors: number }>(
    `insights/${encodeURIComponent(site.id)}/live`,
    LIVE_EVERY_MS,
  );
  const visitors = live.answer?.visitors;
  return (
    <>
      <header class="top">
        <div class="top-row">
          <span class="mark" aria-hidden="true" />
          <a class="site-name shared-name" href={hashOf({ ...look.value, ...UNFILTERED, own: {} })}>
            {site.name}
          </a>
          <span class="live" data-live={visitors ?? ''}>
            <span class={visitors ? 'dot' : 'dot off'} aria-hidden="true" />
            <strong>{visitors === undefined ? NONE : count(visitors)}</strong>
            <span>live now</span>
          </span>
          <span class="spread" />
          <Keys />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 class="unseen">Overview of {site.name}</h1>
        <Overview />
      </main>
    </>
  );
}

/** Asks for the passphrase of a shared link. */
export function Unlock({ link }: { readonly link: SharedLink }) {
  const passphrase = useSignal('');
  const saving = useSaving();
  return (
    <main class="sign-in" id="main">
      <h1>
        <span class="mark" aria-hidden="true" />
        Shared figures
      </h1>
      <div class="card">
        <Form
          saving={saving}
          action="Open"
          label="Open the shared figures"
          onSubmit={() => void saving.run(() => unlock(link, passphrase.value))}
        >
          <TextField
            label="Passphrase"
            name="passphrase"
            type="password"
            isRequired
            hint="Whoever gave you the link knows it."
            {...bound(passphrase)}
            problem={undefined}
          />
        </Form>
      </div>
    </main>
  );
}
