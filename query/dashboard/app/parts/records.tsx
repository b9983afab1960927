import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Answered } from '../data/answers.ts';
import { type Saving, useSaving } from '../data/saving.ts';
import { ask } from '../data/service.ts';
import { ConfirmButton, Form } from './form.tsx';
import { Empty, Failure, Loading } from './notice.tsx';

const LOADING_ROWS = 3;

/** A card with a row for each record, or a text if there are none. */
export function RecordsCard<Shown extends { readonly id: string }>({
  title,
  label,
  list,
  records = list.answer?.data,
  empty,
  row,
}: {
  readonly title: string;
  /** Names the list of rows. */
  readonly label: string;
  readonly list: Answered<{ readonly data: readonly Shown[] }>;
  /** The shown records of the list; all if left out. */
  readonly records?: readonly Shown[] | undefined;
  /** Shown if there are no records. */
  readonly empty?: ComponentChildren;
  readonly row: (record: Shown) => ComponentChildren;
}) {
  const id = useId();
  const { answer, error, isLoading, retry } = list;
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {isLoading && <Loading rows={LOADING_ROWS} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {records?.length === 0 && empty !== undefined && <Empty>{empty}</Empty>}
      <ul class="records" aria-label={label}>
        {records?.map((record) => (
          <li key={record.id}>{row(record)}</li>
        ))}
      </ul>
    </section>
  );
}

/** A record with its name, facts and buttons. The last button deletes it at its address, after a confirmation. */
export function RecordRow({
  name,
  code,
  facts,
  actions,
  children,
  verb = 'Delete',
  ...removal
}: {
  readonly name: string;
  /** The id, where people need it. */
  readonly code?: string;
  readonly facts: readonly (string | undefined)[];
  /** Further buttons. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly address: string;
  readonly warning: string;
  readonly verb?: string;
  readonly onDeleted: () => unknown;
}) {
  return (
    <div class="record">
      <span class="record-name">
        <strong>{name}</strong>
        {code !== undefined && <code>{code}</code>}
        <span class="quiet">{facts.filter((fact) => fact !== undefined && fact !== '').join(' · ')}</span>
        {children}
      </span>
      <span class="record-actions">
        {actions}
        <DeleteButton label={verb} confirmed={`${verb} ${name}`} {...removal} />
      </span>
    </div>
  );
}

/** A card with the form for another record. Without fields it has no form. */
export function NewRecord({
  title,
  action,
  saving,
  onSubmit,
  intro,
  children,
}: {
  readonly title: string;
  /** Text of the button. */
  readonly action: string;
  readonly saving: Saving;
  readonly onSubmit: () => unknown;
  /** Above the form. */
  readonly intro?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {intro}
      {children !== undefined && (
        <Form saving={saving} action={action} label={title} onSubmit={() => void onSubmit()}>
          {children}
        </Form>
      )}
    </section>
  );
}

/** A button that deletes the record at an address of the service, after a confirmation. */
export function DeleteButton({
  label = 'Delete',
  warning,
  confirmed,
  address,
  onDeleted,
}: {
  readonly label?: string;
  readonly warning: string;
  /** Text of the second button. */
  readonly confirmed: string;
  readonly address: string;
  readonly onDeleted: () => unknown;
}) {
  const saving = useSaving();
  return (
    <ConfirmButton
      label={label}
      warning={warning}
      confirmed={confirmed}
      saving={saving}
      onConfirm={() =>
        void saving.run(async () => {
          await ask(address, { method: 'DELETE' });
          await onDeleted();
        })
      }
    />
  );
}
