import { useEffect } from 'preact/hooks';
import { hashOf, look } from '../data/address.ts';
import { count, NONE } from '../data/format.ts';
import { followLive, liveVisitors } from '../data/live-number.ts';
import { site } from '../data/session.ts';
import { VIEWS } from '../pages/views.ts';
import { AccountMenu, SiteMenu } from './account-menus.tsx';
import { Keys } from './keys.tsx';

/** The frame of every view: site, live visitors, navigation and keys. */
export function Shell() {
  const view = VIEWS.find(({ id }) => id === look.value.view) ?? VIEWS[0];
  const shown = site.value;
  const siteId = shown?.id;
  useEffect(() => (siteId === undefined ? undefined : followLive(siteId)), [siteId]);
  useEffect(() => {
    document.title = shown === undefined || view === undefined ? 'footfall' : `${view.title} · ${shown.name}`;
  }, [shown, view]);
  if (view === undefined) return null;
  const { Page } = view;
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the figures
      </button>
      <header class="top">
        <div class="top-row">
          <span class="mark" aria-hidden="true" />
          <SiteMenu />
          <LiveCount />
          <span class="spread" />
          <Keys />
          <AccountMenu />
        </div>
        <nav class="views" aria-label="Views">
          {VIEWS.map(({ id, title }) => (
            <a
              key={id}
              href={hashOf({ ...look.value, view: id, own: {} })}
              aria-current={id === view.id ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 class="unseen">
          {view.title} of {shown?.name ?? 'footfall'}
        </h1>
        {shown === undefined ? (
          <p class="notice">There is no site yet. Create one with POST /manage/projects.</p>
        ) : (
          <Page key={shown.id} />
        )}
      </main>
    </>
  );
}

/** A button and no link, because the part of the address behind # is the current view. */
function skip(): void {
  document.querySelector<HTMLElement>('#main')?.focus();
}

/** The number of visitors now, as the service pushes it. */
function LiveCount() {
  const visitors = liveVisitors.value;
  return (
    <a class="live" href={hashOf({ ...look.value, view: 'realtime', own: {} })} data-live={visitors ?? ''}>
      <span class={visitors ? 'dot' : 'dot off'} aria-hidden="true" />
      <strong>{visitors === undefined ? NONE : count(visitors)}</strong>
      <span>live now</span>
    </a>
  );
}
