import { useSignal } from '@preact/signals';
import type { z } from 'zod';
import type { referenceShown } from '../../../../manage/catalog-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { TextField } from '../../parts/fields.tsx';
import { ConfirmButton, Form } from '../../parts/form.tsx';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';

type Reference = z.output<typeof referenceShown>;

/** Dates that stand on every chart, such as a launch. */
export function Marks() {
  const marks = useAnswer<{ readonly data: readonly Reference[] }>(
    addressOf('manage/references', { projectId: look.value.site }),
  );
  return (
    <>
      <section class="card" aria-labelledby="marks-title">
        <h2 id="marks-title">Marks on charts</h2>
        {marks.isLoading && <Loading rows={3} />}
        {marks.answer === undefined && marks.error !== undefined && (
          <Failure error={marks.error} retry={marks.retry} />
        )}
        {marks.answer?.data.length === 0 && <Empty>No date is marked.</Empty>}
        <ul class="records" aria-label="Marks">
          {marks.answer?.data.map((mark) => (
            <li key={mark.id}>
              <MarkRow mark={mark} onChanged={marks.retry} />
            </li>
          ))}
        </ul>
      </section>
      <NewMark onCreated={marks.retry} />
    </>
  );
}

function MarkRow({ mark, onChanged }: { readonly mark: Reference; readonly onChanged: () => void }) {
  const saving = useSaving();
  return (
    <div class="record">
      <span class="record-name">
        <strong>{mark.title}</strong>
        <span class="quiet">
          {[time(mark.date, site.value?.timezone ?? 'UTC'), mark.description]
            .filter((text) => text !== '')
            .join(' · ')}
        </span>
      </span>
      <ConfirmButton
        label="Delete"
        warning={`${mark.title} does not stand on charts any more.`}
        confirmed={`Delete ${mark.title}`}
        saving={saving}
        onConfirm={() =>
          void saving.run(async () => {
            await ask(`manage/references/${mark.id}`, { method: 'DELETE' });
            onChanged();
          })
        }
      />
    </div>
  );
}

function NewMark({ onCreated }: { readonly onCreated: () => void }) {
  const title = useSignal('');
  const date = useSignal('');
  const description = useSignal('');
  const saving = useSaving();
  const { problem } = saving;
  const create = () =>
    saving.run(async () => {
      const body = {
        projectId: look.value.site,
        title: title.value,
        date: date.value,
        description: description.value,
      };
      await ask('manage/references', { method: 'POST', body });
      title.value = '';
      description.value = '';
      onCreated();
    });
  return (
    <section class="card" aria-labelledby="new-mark-title">
      <h2 id="new-mark-title">New mark</h2>
      <Form saving={saving} action="Mark the date" label="New mark" onSubmit={() => void create()}>
        <TextField
          label="Title"
          name="title"
          isRequired
          value={title.value}
          problem={problem}
          onInput={(text) => {
            title.value = text;
          }}
        />
        <TextField
          label="Date"
          name="date"
          type="date"
          hint="Midnight in the time zone of the site."
          isRequired
          value={date.value}
          problem={problem}
          onInput={(text) => {
            date.value = text;
          }}
        />
        <TextField
          label="Description"
          name="description"
          value={description.value}
          problem={problem}
          onInput={(text) => {
            description.value = text;
          }}
        />
      </Form>
    </section>
  );
}
