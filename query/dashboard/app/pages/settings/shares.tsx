import { useSignal } from '@preact/signals';
import type { ShareShown } from '../../../../manage/share-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { bound, TextField } from '../../parts/fields.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

/** Links that show the overview of the site, read only, to people without an account. */
export function Shares() {
  const shares = useAnswer<{ readonly data: readonly ShareShown[] }>(
    addressOf('manage/shares', { projectId: look.value.site }),
  );
  return (
    <>
      <NewShare onCreated={shares.retry} />
      <RecordsCard
        title="Shared links"
        label="Shared links"
        list={shares}
        empty="Nothing is shared."
        row={(share) => <ShareRow share={share} onChanged={shares.retry} />}
      />
    </>
  );
}

function ShareRow({ share, onChanged }: { readonly share: ShareShown; readonly onChanged: () => void }) {
  const { timezone = 'UTC' } = site.value ?? {};
  return (
    <RecordRow
      name={share.name}
      facts={[
        share.needsPassphrase ? 'with a passphrase' : 'for everybody who has the link',
        share.expiresAt === null ? 'without end' : `until ${time(share.expiresAt, timezone)}`,
        `made ${time(share.createdAt, timezone)}`,
      ]}
      address={`manage/shares/${encodeURIComponent(share.id)}`}
      warning={`The link ${share.name} shows nothing any more, wherever it was passed on to. This cannot be undone.`}
      verb="Revoke"
      onDeleted={onChanged}
    />
  );
}

function NewShare({ onCreated }: { readonly onCreated: () => void }) {
  const name = useSignal('');
  const passphrase = useSignal('');
  const until = useSignal('');
  const link = useSignal<string | undefined>(undefined);
  const frame = useSignal('');
  const saving = useSaving();
  const { problem } = saving;
  const create = () =>
    saving.run(async () => {
      const body = {
        projectId: look.value.site,
        name: name.value,
        ...(passphrase.value !== '' && { passphrase: passphrase.value }),
        ...(until.value !== '' && { expiresAt: `${until.value}T00:00:00Z` }),
      };
      const { data } = await ask<{ data: { token: string } }>('manage/shares', { method: 'POST', body });
      const base = new URL('.', document.baseURI);
      link.value = new URL(`#/shared/${data.token}`, base).href;
      const framed = new URL(`shared-page#/shared/${data.token}`, base).href;
      frame.value = `<iframe src="${framed}" title="Web analytics" width="100%" height="900" style="border:0"></iframe>`;
      name.value = '';
      passphrase.value = '';
      onCreated();
    });
  return (
    <NewRecord
      title="Share the overview"
      action="Make a link"
      saving={saving}
      onSubmit={create}
      intro={
        link.value !== undefined && (
          <div class="once">
            <p>The link. It is shown once, because only a hash of it is stored:</p>
            <CodeBlock text={link.value} label="Shared link" />
            <p>The same in a page of yours:</p>
            <CodeBlock text={frame.value} label="Frame" />
          </div>
        )
      }
    >
      <TextField
        label="Name"
        name="name"
        hint="For you; viewers do not see it."
        isRequired
        {...bound(name)}
        problem={problem}
      />
      <TextField
        label="Passphrase"
        name="passphrase"
        hint="Empty: whoever has the link sees the figures. Otherwise at least 12 characters."
        {...bound(passphrase)}
        problem={problem}
      />
      <TextField
        label="Until"
        name="expiresAt"
        type="date"
        hint="Midnight in UTC. Empty: until it is revoked."
        {...bound(until)}
        problem={problem}
      />
    </NewRecord>
  );
}
