import { useSignal } from '@preact/signals';
import type { ClientShown } from '../../../../manage/client-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { NONE, time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { bound, ChoiceField, chosen, LinesField, linesIn, TextField } from '../../parts/fields.tsx';
import { ConfirmButton } from '../../parts/form.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

interface WithSecret {
  readonly data: ClientShown & { readonly secret: string };
}

const TYPES = [
  ['write', 'write: sends events'],
  ['read', 'read: asks for figures and exports'],
  ['root', 'root: everything, of all sites of the team'],
] as const;

/** The programs and pages that may send, read or manage, each with a secret. */
export function Clients() {
  const siteId = look.value.site;
  const clients = useAnswer<{ readonly data: readonly ClientShown[] }>('manage/clients');
  const shown = clients.answer?.data.filter(({ projectId }) => projectId === siteId || projectId === null);
  const secret = useSignal<{ readonly name: string; readonly text: string } | undefined>(undefined);
  const tell = ({ data }: WithSecret) => {
    secret.value = { name: data.name, text: data.secret };
    clients.retry();
  };
  return (
    <>
      {secret.value !== undefined && (
        <section class="card once" aria-label="Secret">
          <p>
            The secret of <strong>{secret.value.name}</strong>. It is shown once, and only a hash of it is
            stored:
          </p>
          <CodeBlock text={secret.value.text} label="Secret" />
        </section>
      )}
      <RecordsCard
        title="Clients and keys"
        label="Clients"
        list={clients}
        records={shown}
        empty="No client exists, so nothing can send events of this site."
        row={(client) => <ClientRow client={client} onSecret={tell} onChanged={clients.retry} />}
      />
      <NewClient siteId={siteId} onSecret={tell} />
    </>
  );
}

function ClientRow({
  client,
  onSecret,
  onChanged,
}: {
  readonly client: ClientShown;
  readonly onSecret: (created: WithSecret) => void;
  readonly onChanged: () => void;
}) {
  const rotating = useSaving();
  const { timezone = 'UTC' } = site.value ?? {};
  const address = `manage/clients/${encodeURIComponent(client.id)}`;
  const facts = [
    client.type,
    client.scopes.join(', '),
    client.addresses === null ? undefined : `from ${client.addresses.join(', ')}`,
    client.expiresAt === null ? undefined : `until ${time(client.expiresAt, timezone)}`,
    `last used ${client.lastUsedAt === null ? NONE : time(client.lastUsedAt, timezone)}`,
  ];
  return (
    <RecordRow
      name={client.name}
      code={client.id}
      facts={facts}
      actions={
        <ConfirmButton
          label="New secret"
          warning="The present secret stops working within seconds: whoever uses it needs the new one."
          confirmed="Make a new secret"
          saving={rotating}
          onConfirm={() =>
            void rotating.run(async () =>
              onSecret(await ask<WithSecret>(`${address}/rotate`, { method: 'POST' })),
            )
          }
        />
      }
      address={address}
      warning={`Whatever sends or asks as ${client.name} is rejected from then on. This cannot be undone.`}
      onDeleted={onChanged}
    />
  );
}

function NewClient({
  siteId,
  onSecret,
}: {
  readonly siteId: string;
  readonly onSecret: (created: WithSecret) => void;
}) {
  const name = useSignal('');
  const type = useSignal<string>('write');
  const addresses = useSignal('');
  const until = useSignal('');
  const saving = useSaving();
  const { problem } = saving;
  const create = () =>
    saving.run(async () => {
      const allowed = linesIn(addresses.value);
      const body = {
        name: name.value,
        type: type.value,
        ...(type.value !== 'root' && { projectId: siteId }),
        ...(allowed.length > 0 && { addresses: allowed }),
        ...(until.value !== '' && { expiresAt: `${until.value}T00:00:00Z` }),
      };
      onSecret(await ask<WithSecret>('manage/clients', { method: 'POST', body }));
      name.value = '';
    });
  return (
    <NewRecord title="New client" action="Create the client" saving={saving} onSubmit={create}>
      <TextField label="Name" name="name" isRequired {...bound(name)} problem={problem} />
      <ChoiceField label="What it may do" name="type" {...chosen(type)} choices={TYPES} problem={problem} />
      {type.value !== 'write' && (
        <LinesField
          label="Addresses that it is used from"
          name="addresses"
          hint="One address or range a line. Empty: all."
          {...bound(addresses)}
          problem={problem}
        />
      )}
      <TextField
        label="Until"
        name="expiresAt"
        type="date"
        hint="Midnight in UTC. Empty: without end."
        {...bound(until)}
        problem={problem}
      />
    </NewRecord>
  );
}
