import { useSignal } from '@preact/signals';
import type { EventListAnswer } from '../../../insights/event-list-api.ts';
import type { ClientShown } from '../../../manage/client-api.ts';
import type { ProjectShown } from '../../../manage/project-api.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { time } from '../data/format.ts';
import { liveVisitors } from '../data/live-number.ts';
import { addressOf, ask } from '../data/service.ts';
import { signedIn, site } from '../data/session.ts';
import { SNIPPETS } from '../data/snippets.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { Failure } from '../parts/notice.tsx';
import { Tabs } from '../parts/tabs.tsx';

const EVERY_MS = 3_000;
const UNKNOWN_ID = 'CLIENT_ID';

/** Shows the code to send events of this site, and if they arrive. */
export function Installation() {
  const chosen = SNIPPETS.find(({ id }) => id === look.value.own.language) ?? SNIPPETS[0];
  const isRoot = signedIn.value?.role === 'root';
  const siteId = look.value.site;
  const clients = useAnswer<{ readonly data: readonly ClientShown[] }>(
    isRoot ? addressOf('manage/clients', { projectId: siteId }) : undefined,
  );
  const created = useSignal<{ readonly id: string; readonly secret: string } | undefined>(undefined);
  const problem = useSignal('');
  const writing = clients.answer?.data.find(({ type }) => type === 'write');
  const clientId = created.value?.id ?? writing?.id ?? UNKNOWN_ID;
  const create = async () => {
    problem.value = '';
    try {
      const body = { name: 'Website', type: 'write', projectId: siteId };
      created.value = (
        await ask<{ data: { id: string; secret: string } }>('manage/clients', { method: 'POST', body })
      ).data;
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  if (chosen === undefined) return null;
  const text = chosen.textOf({ base: new URL('.', document.baseURI).href.replace(/\/$/, ''), clientId });
  return (
    <div class="page">
      <Arrival />
      <section class="card" aria-labelledby="snippet-title">
        <header class="card-head">
          <h2 id="snippet-title">1. Send events</h2>
          <Tabs
            label="Languages"
            tabs={SNIPPETS}
            chosen={chosen.id}
            panelId="snippet"
            onChoose={(id) => goOwn({ language: id === SNIPPETS[0]?.id ? undefined : id }, { replace: true })}
          />
        </header>
        <div id="snippet" role="tabpanel" aria-label={chosen.title}>
          <p>{chosen.note}</p>
          <CodeBlock text={text} label={`${chosen.title}, to copy`} />
        </div>
        {isRoot && clients.error !== undefined && clients.answer === undefined && (
          <Failure error={clients.error} retry={clients.retry} />
        )}
        {created.value !== undefined && (
          <div class="once">
            <p>The secret of the client that was made, for servers. It is shown once:</p>
            <CodeBlock text={created.value.secret} label="Secret" />
          </div>
        )}
        {clientId === UNKNOWN_ID && clients.answer !== undefined && (
          <p>
            This site has no write client, which events are sent as.{' '}
            <button type="button" class="button main" onClick={() => void create()}>
              Create a write client
            </button>
          </p>
        )}
        {problem.value !== '' && (
          <p class="form-error" role="alert">
            {problem.value}
          </p>
        )}
        {!isRoot && (
          <p class="quiet">
            {UNKNOWN_ID} stands for the id of the site’s write client, which only a root client can look up.
          </p>
        )}
      </section>
      {isRoot && <Origins siteId={siteId} />}
    </div>
  );
}

/** Shows if events arrive: the newest one, requested again whenever the number of live visitors changes. */
function Arrival() {
  const { timezone = 'UTC' } = site.value ?? {};
  const address = addressOf(`insights/${encodeURIComponent(look.value.site)}/events`, {
    range: '12m',
    limit: '1',
  });
  const { answer } = useAnswer<EventListAnswer>(address, EVERY_MS);
  const [newest] = answer ?? [];
  const hasArrived = newest !== undefined || (liveVisitors.value ?? 0) > 0;
  return (
    <section
      class={hasArrived ? 'card arrival arrived' : 'card arrival'}
      aria-label="Arrival of events"
      data-arrived={hasArrived}
    >
      <span class={hasArrived ? 'dot' : 'dot off'} aria-hidden="true" />
      <div role="status">
        <strong>{hasArrived ? 'Events arrive' : 'Waiting for the first event'}</strong>
        <p class="quiet">
          {newest === undefined
            ? 'Open one of your pages once the script is in it. This turns green by itself.'
            : `The newest: ${newest.name === 'screen_view' ? 'a view of' : `${newest.name} on`} ${newest.path || 'no page'}, ${time(newest.createdAt, timezone)}`}
        </p>
      </div>
    </section>
  );
}

/** The origins that browsers may send from, which a root client may extend. */
function Origins({ siteId }: { readonly siteId: string }) {
  const { answer, retry } = useAnswer<{ readonly data: ProjectShown }>(
    addressOf(`manage/projects/${encodeURIComponent(siteId)}`),
  );
  const origin = useSignal('');
  const problem = useSignal('');
  const cors = answer?.data.cors ?? [];
  const add = async (event: Event) => {
    event.preventDefault();
    problem.value = '';
    try {
      const body = { cors: [...cors, origin.value.trim()] };
      await ask(`manage/projects/${encodeURIComponent(siteId)}`, { method: 'PATCH', body });
      origin.value = '';
      retry();
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <section class="card" aria-labelledby="origins-title">
      <header class="card-head">
        <h2 id="origins-title">2. Allow your pages</h2>
      </header>
      <p>
        Browsers hold no secret, so only pages of these origins may send. Servers with the secret need no
        entry.
      </p>
      {answer !== undefined && cors.length === 0 && <p class="quiet">None yet: no browser may send.</p>}
      <ul class="chips" aria-label="Origins">
        {cors.map((one) => (
          <li class="chip" key={one}>
            <span class="chip-words">{one === '*' ? '* (every origin)' : one}</span>
          </li>
        ))}
      </ul>
      <form class="inline-form" onSubmit={(event) => void add(event)}>
        <input
          aria-label="Another origin"
          placeholder="https://example.com"
          required
          value={origin.value}
          onInput={(event) => {
            origin.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="button">
          Allow it
        </button>
      </form>
      {problem.value !== '' && (
        <p class="form-error" role="alert">
          {problem.value}
        </p>
      )}
    </section>
  );
}
