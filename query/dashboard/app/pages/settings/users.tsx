import { useSignal } from '@preact/signals';
import type { UserShown } from '../../../../manage/user-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { useSaving } from '../../data/saving.ts';
import { ask } from '../../data/service.ts';
import { signedIn } from '../../data/session.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { bound, ChoiceField, chosen, SwitchField, TextField } from '../../parts/fields.tsx';
import { ConfirmButton } from '../../parts/form.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

const ROLES = [
  ['read', 'reads the figures of chosen sites'],
  ['root', 'manages everything, of all sites of the team'],
] as const;
const PASSPHRASE_LETTERS = 20;

/** The people that sign in with an e-mail address and a passphrase. */
export function Users() {
  const users = useAnswer<{ readonly data: readonly UserShown[] }>('manage/users');
  return (
    <>
      <RecordsCard
        title="People with access"
        label="People"
        list={users}
        empty="Nobody yet. Whoever has the id and the secret of a client signs in with these."
        row={(user) => <UserRow user={user} onChanged={users.retry} />}
      />
      <NewUser onCreated={users.retry} />
    </>
  );
}

function UserRow({ user, onChanged }: { readonly user: UserShown; readonly onChanged: () => void }) {
  const renewing = useSaving();
  const passphrase = useSignal('');
  const address = `manage/users/${encodeURIComponent(user.id)}`;
  const renew = () =>
    renewing.run(async () => {
      const next = newPassphrase();
      await ask(address, { method: 'PATCH', body: { passphrase: next } });
      passphrase.value = next;
    });
  const names =
    signedIn.value?.sites.filter(({ id }) => user.sites?.includes(id)).map(({ name }) => name) ?? [];
  return (
    <RecordRow
      name={user.name}
      facts={[user.email, user.role, user.sites === null ? 'all sites' : names.join(', ')]}
      actions={
        <ConfirmButton
          label="New passphrase"
          warning={`Signs ${user.name} out everywhere. The new passphrase is shown once, for you to pass on.`}
          confirmed="Make a new passphrase"
          saving={renewing}
          onConfirm={() => void renew()}
        />
      }
      address={address}
      warning={`${user.name} is signed out within seconds and cannot sign in any more.`}
      verb="Remove"
      onDeleted={onChanged}
    >
      {passphrase.value !== '' && <CodeBlock text={passphrase.value} label="New passphrase, shown once" />}
    </RecordRow>
  );
}

function NewUser({ onCreated }: { readonly onCreated: () => void }) {
  const name = useSignal('');
  const email = useSignal('');
  const role = useSignal<string>('read');
  const sites = useSignal<readonly string[]>([look.value.site]);
  const passphrase = useSignal(newPassphrase());
  const told = useSignal<string | undefined>(undefined);
  const saving = useSaving();
  const { problem } = saving;
  const create = () =>
    saving.run(async () => {
      const body = {
        name: name.value,
        email: email.value,
        role: role.value,
        passphrase: passphrase.value,
        ...(role.value === 'read' && { sites: sites.value }),
      };
      await ask('manage/users', { method: 'POST', body });
      told.value = `${email.value}\n${passphrase.value}`;
      name.value = '';
      email.value = '';
      passphrase.value = newPassphrase();
      onCreated();
    });
  return (
    <NewRecord
      title="Invite somebody"
      action="Give access"
      saving={saving}
      onSubmit={create}
      intro={
        told.value !== undefined && (
          <div class="once">
            <p>Pass this on. The passphrase is shown once:</p>
            <CodeBlock text={told.value} label="E-mail address and passphrase" />
          </div>
        )
      }
    >
      <TextField label="Name" name="name" isRequired {...bound(name)} problem={problem} />
      <TextField
        label="E-mail address"
        name="email"
        type="email"
        isRequired
        {...bound(email)}
        problem={problem}
      />
      <ChoiceField label="Role" name="role" {...chosen(role)} choices={ROLES} problem={problem} />
      {role.value === 'read' && (
        <fieldset>
          <legend>Sites</legend>
          {signedIn.value?.sites.map((one) => (
            <SwitchField
              key={one.id}
              label={one.name}
              isOn={sites.value.includes(one.id)}
              onSwitch={(isOn) => {
                sites.value = isOn ? [...sites.value, one.id] : sites.value.filter((id) => id !== one.id);
              }}
            />
          ))}
        </fieldset>
      )}
      <TextField
        label="Passphrase"
        name="passphrase"
        isRequired
        hint="A random one, unless you choose another of at least 12 characters."
        {...bound(passphrase)}
        problem={problem}
      />
    </NewRecord>
  );
}

/** Twenty random letters and digits in groups of four, which can be read aloud. */
function newPassphrase(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
  const bytes = crypto.getRandomValues(new Uint8Array(PASSPHRASE_LETTERS));
  const text = [...bytes].map((byte) => letters[byte % letters.length]).join('');
  return text.match(/.{4}/g)?.join('-') ?? text;
}
