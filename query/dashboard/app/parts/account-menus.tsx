import { useSignal } from '@preact/signals';
import { go, look, UNFILTERED } from '../data/address.ts';
import { signedIn, signOut, site } from '../data/session.ts';
import { Menu } from './menu.tsx';

/** Up to this number, sites need no search. */
const UNSEARCHED_MAX = 8;

/** Chooses the site. Period and view stay; filters are of one site and go. */
export function SiteMenu() {
  const words = useSignal('');
  const sites = signedIn.value?.sites ?? [];
  const found = sites.filter(({ id, name }) =>
    `${name} ${id}`.toLowerCase().includes(words.value.toLowerCase()),
  );
  return (
    <Menu
      label={<span class="site-name">{site.value?.name ?? 'No site'}</span>}
      title={`Site: ${site.value?.name ?? 'none'}`}
      kind="button site"
    >
      {(close) => (
        <>
          {sites.length > UNSEARCHED_MAX && (
            <input
              type="search"
              aria-label="Search sites"
              placeholder="Search"
              value={words.value}
              onInput={(event) => {
                words.value = event.currentTarget.value;
              }}
            />
          )}
          <ul class="choices">
            {found.map(({ id, name }) => (
              <li key={id}>
                <button
                  type="button"
                  aria-current={id === look.value.site ? 'true' : undefined}
                  onClick={() => {
                    go({ site: id, ...UNFILTERED, own: {} });
                    close();
                  }}
                >
                  {name}
                  {name !== id && <span class="quiet">{id}</span>}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Menu>
  );
}

/** The signed-in caller, the sign-out, and links to further reading. */
export function AccountMenu() {
  const who = signedIn.value;
  const failure = useSignal('');
  return (
    <Menu label="Account" align="end">
      {() => (
        <>
          <p class="panel-title">
            {who?.name} · {who?.role === 'root' ? 'may manage' : 'may read'}
          </p>
          <ul class="choices">
            <li>
              <a href="documentation">API documentation</a>
            </li>
            <li>
              <a href="help">Help and endpoints</a>
            </li>
            <li>
              <button
                type="button"
                onClick={() => {
                  signOut().catch((error: unknown) => {
                    failure.value = error instanceof Error ? error.message : String(error);
                  });
                }}
              >
                Sign out
              </button>
            </li>
          </ul>
          {failure.value !== '' && (
            <p class="form-error" role="alert">
              {failure.value}
            </p>
          )}
        </>
      )}
    </Menu>
  );
}
