import { useSignal } from '@preact/signals';
import type { z } from 'zod';
import type { erasureShown } from '../../../../manage/erasures.ts';
import type { ListedProfile } from '../../../../people/profile-list-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { count, time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { bound, TextField } from '../../parts/fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Empty, Loading } from '../../parts/notice.tsx';
import { DeleteButton, RecordsCard } from '../../parts/records.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { personAddress, personName } from '../people/profiles.tsx';

type Receipt = z.output<typeof erasureShown>;

const FOUND_MAX = '10';
const EVERY_MS = 3_000;
const STATES: Readonly<Record<Receipt['status'], string>> = {
  waiting: 'waits to begin',
  erasing: 'is being erased',
  done: 'erased',
};

/** Finds a person and erases everything about them; the receipts contain no names. */
export function Privacy() {
  const base = `manage/projects/${encodeURIComponent(look.value.site)}`;
  const receipts = useAnswer<{ readonly data: readonly Receipt[] }>(`${base}/erasures`, EVERY_MS);
  const search = useSignal('');
  const found = useAnswer<readonly ListedProfile[]>(
    search.value === ''
      ? undefined
      : addressOf(`insights/${encodeURIComponent(look.value.site)}/profiles`, {
          search: search.value,
          limit: FOUND_MAX,
        }),
  );
  return (
    <>
      <section class="card" aria-labelledby="find-title">
        <h2 id="find-title">Find a person</h2>
        <div class="list-tools">
          <SearchField
            label="Name, e-mail or id"
            value={search.value}
            onSearch={(text) => {
              search.value = text;
            }}
          />
        </div>
        {found.isLoading && <Loading rows={2} />}
        {found.answer?.length === 0 && (
          <Empty>Nobody was found. Whoever has only an id can be erased below.</Empty>
        )}
        <ul class="records" aria-label="Found">
          {found.answer?.map((profile) => (
            <li key={profile.id}>
              <div class="record">
                <span class="record-name">
                  <a href={personAddress(profile.id)}>{personName(profile)}</a>
                  <span class="quiet">
                    {[profile.email, profile.id, `${count(profile.sessions)} sessions`]
                      .filter((text) => text !== '')
                      .join(' · ')}
                  </span>
                </span>
                <Erase base={base} id={profile.id} onErased={receipts.retry} />
              </div>
            </li>
          ))}
        </ul>
        <EraseById base={base} onErased={receipts.retry} />
      </section>
      <RecordsCard
        title="Receipts"
        label="Receipts"
        list={receipts}
        empty="Nobody has been erased."
        row={(receipt) => <ReceiptRow receipt={receipt} />}
      />
    </>
  );
}

function Erase({
  base,
  id,
  onErased,
}: {
  readonly base: string;
  readonly id: string;
  readonly onErased: () => void;
}) {
  return (
    <DeleteButton
      label="Erase"
      warning={`Erases the profile ${id}, its sessions with all their events, other events that name it, and its share of all sums. This cannot be undone.`}
      confirmed="Erase for good"
      address={`${base}/profiles/${encodeURIComponent(id)}`}
      onDeleted={onErased}
    />
  );
}

/** For people with only a known id. The id has to be typed, which is the confirmation. */
function EraseById({ base, onErased }: { readonly base: string; readonly onErased: () => void }) {
  const id = useSignal('');
  const saving = useSaving();
  const erase = () =>
    saving.run(async () => {
      await ask(`${base}/profiles/${encodeURIComponent(id.value)}`, { method: 'DELETE' });
      id.value = '';
      onErased();
    });
  return (
    <details class="as-table">
      <summary>Erase by id</summary>
      <Form saving={saving} action="Erase for good" label="Erase by id" onSubmit={() => void erase()}>
        <TextField
          label="Id of the person"
          name="profileId"
          isRequired
          hint="Everything about this id is erased. This cannot be undone."
          {...bound(id)}
          problem={saving.problem}
        />
      </Form>
    </details>
  );
}

function ReceiptRow({ receipt }: { readonly receipt: Receipt }) {
  const { timezone = 'UTC' } = site.value ?? {};
  const rows = Object.values(receipt.rowsRemoved);
  return (
    <div class="record">
      <span class="record-name">
        <strong>
          {STATES[receipt.status]}
          {receipt.finishedAt !== null && ` ${time(receipt.finishedAt, timezone)}`}
        </strong>
        <span class="quiet">
          requested {time(receipt.createdAt, timezone)}
          {rows.length > 0 &&
            ` · ${Object.entries(receipt.rowsRemoved)
              .map(([table, removed]) => `${count(removed)} ${table}`)
              .join(', ')}`}
        </span>
        <code>{receipt.profileDigest}</code>
      </span>
    </div>
  );
}
