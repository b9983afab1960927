import { useSignal } from '@preact/signals';
import type { z } from 'zod';
import type { referenceShown } from '../../../../manage/catalog-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { bound, TextField } from '../../parts/fields.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

type Reference = z.output<typeof referenceShown>;

/** Dates marked on every chart, such as a launch. */
export function Marks() {
  const marks = useAnswer<{ readonly data: readonly Reference[] }>(
    addressOf('manage/references', { projectId: look.value.site }),
  );
  return (
    <>
      <RecordsCard
        title="Marks on charts"
        label="Marks"
        list={marks}
        empty="No date is marked."
        row={(mark) => <MarkRow mark={mark} onChanged={marks.retry} />}
      />
      <NewMark onCreated={marks.retry} />
    </>
  );
}

function MarkRow({ mark, onChanged }: { readonly mark: Reference; readonly onChanged: () => void }) {
  return (
    <RecordRow
      name={mark.title}
      facts={[time(mark.date, site.value?.timezone ?? 'UTC'), mark.description]}
      address={`manage/references/${mark.id}`}
      warning={`${mark.title} does not stand on charts any more.`}
      onDeleted={onChanged}
    />
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
    <NewRecord title="New mark" action="Mark the date" saving={saving} onSubmit={create}>
      <TextField label="Title" name="title" isRequired {...bound(title)} problem={problem} />
      <TextField
        label="Date"
        name="date"
        type="date"
        hint="Midnight in the time zone of the site."
        isRequired
        {...bound(date)}
        problem={problem}
      />
      <TextField label="Description" name="description" {...bound(description)} problem={problem} />
    </NewRecord>
  );
}
