import { useSignal } from '@preact/signals';
import type { z } from 'zod';
import type { goalShown } from '../../../../definitions/definition-records.ts';
import type { NamesAnswer } from '../../../../insights/vocabulary-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { money } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { bound, ChoiceField, chosen, TextField } from '../../parts/fields.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

type ShownGoal = z.output<typeof goalShown>;

const TYPES = [
  ['event', 'an event'],
  ['page', 'a view of a page'],
] as const;

/** The definitions of conversions. */
export function Goals() {
  const base = `manage/projects/${encodeURIComponent(look.value.site)}/goals`;
  const goals = useAnswer<{ readonly data: readonly ShownGoal[] }>(base);
  return (
    <>
      <RecordsCard
        title="Goals"
        label="Goals"
        list={goals}
        empty="No goal yet. Conversions are counted from the events, so a new goal has a past at once."
        row={(goal) => <GoalRow goal={goal} base={base} onChanged={goals.retry} />}
      />
      <NewGoal base={base} onCreated={goals.retry} />
    </>
  );
}

function GoalRow({
  goal,
  base,
  onChanged,
}: {
  readonly goal: ShownGoal;
  readonly base: string;
  readonly onChanged: () => void;
}) {
  const { currency = 'USD' } = site.value ?? {};
  return (
    <RecordRow
      name={goal.name}
      facts={[
        goal.type === 'event' ? `event ${goal.event}` : `view of ${goal.path}`,
        goal.filters.length === 0 ? undefined : `${goal.filters.length} filters`,
        goal.value === null ? undefined : `worth ${money(goal.value, currency)}`,
      ]}
      address={`${base}/${goal.id}`}
      warning={`No figure shows conversions of ${goal.name} any more. The events stay.`}
      onDeleted={onChanged}
    />
  );
}

function NewGoal({ base, onCreated }: { readonly base: string; readonly onCreated: () => void }) {
  const name = useSignal('');
  const type = useSignal<string>('event');
  const target = useSignal('');
  const value = useSignal('');
  const saving = useSaving();
  const { problem } = saving;
  const names = useAnswer<NamesAnswer>(
    addressOf(`insights/${encodeURIComponent(look.value.site)}/events/names`, { range: '30d', limit: '100' }),
  );
  const create = () =>
    saving.run(async () => {
      const body = {
        name: name.value,
        type: type.value,
        ...(type.value === 'event' ? { event: target.value } : { path: target.value }),
        ...(value.value !== '' && { value: Number(value.value) }),
      };
      await ask(base, { method: 'POST', body });
      name.value = '';
      target.value = '';
      value.value = '';
      onCreated();
    });
  return (
    <NewRecord title="New goal" action="Create the goal" saving={saving} onSubmit={create}>
      <TextField label="Name" name="name" isRequired {...bound(name)} problem={problem} />
      <ChoiceField label="Reached by" name="type" {...chosen(type)} choices={TYPES} problem={problem} />
      {type.value === 'event' ? (
        <TextField
          label="Event"
          name="event"
          isRequired
          suggestions={(names.answer ?? []).map((one) => one.name)}
          {...bound(target)}
          problem={problem}
        />
      ) : (
        <TextField
          label="Path"
          name="path"
          hint="* stands for any characters, as in /thanks*."
          isRequired
          {...bound(target)}
          problem={problem}
        />
      )}
      <TextField
        label={`Worth, in ${site.value?.currency ?? ''}`}
        name="value"
        type="number"
        hint="Empty: nothing."
        {...bound(value)}
        problem={problem}
      />
    </NewRecord>
  );
}
