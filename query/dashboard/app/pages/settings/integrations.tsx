import { useSignal } from '@preact/signals';
import type { IntegrationShown, TrialShown } from '../../../../manage/integrations/integration-api.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { count, duration, time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { ChoiceField, chosen, SwitchField, TextField } from '../../parts/fields.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

const FORMATS = [
  ['parquet', 'Parquet'],
  ['ndjson_gzip', 'NDJSON, compressed'],
] as const;
const EVERY_MS = 5_000;

/** Buckets that every event of the site is delivered to. */
export function Integrations() {
  const integrations = useAnswer<{ readonly data: readonly IntegrationShown[] }>(
    addressOf('manage/integrations', { projectId: look.value.site }),
    EVERY_MS,
  );
  return (
    <>
      <RecordsCard
        title="Object storage"
        label="Buckets"
        list={integrations}
        empty="No bucket yet."
        row={(integration) => <IntegrationRow integration={integration} onChanged={integrations.retry} />}
      />
      <NewIntegration onCreated={integrations.retry} />
    </>
  );
}

function IntegrationRow({
  integration,
  onChanged,
}: {
  readonly integration: IntegrationShown;
  readonly onChanged: () => void;
}) {
  const { status, paused } = integration;
  const { timezone = 'UTC' } = site.value ?? {};
  const address = `manage/integrations/${integration.id}`;
  const trial = useSignal<TrialShown | undefined>(undefined);
  const acting = useSaving();
  const act = (change: () => Promise<unknown>) =>
    void acting.run(async () => {
      await change();
      onChanged();
    });
  const facts = [
    `${integration.bucket}${integration.prefix === '' ? '' : `/${integration.prefix}`}`,
    integration.format,
    status.state,
    `${count(status.rows)} events in ${count(status.files)} files`,
    status.lagSeconds === null ? undefined : `${duration(status.lagSeconds)} behind`,
    ...status.backfills.map(
      ({ from, to, daysDone, daysTotal }) =>
        `backfill ${from} to ${to}: ${count(daysDone)} of ${count(daysTotal)} days`,
    ),
  ];
  return (
    <RecordRow
      name={integration.name}
      facts={facts}
      actions={
        <>
          <button
            type="button"
            class="button"
            disabled={acting.isRunning}
            onClick={() =>
              act(async () => {
                trial.value = (await ask<{ data: TrialShown }>(`${address}/test`, { method: 'POST' })).data;
              })
            }
          >
            Test
          </button>
          <button
            type="button"
            class="button"
            disabled={acting.isRunning}
            onClick={() => act(() => ask(address, { method: 'PATCH', body: { paused: !paused } }))}
          >
            {paused ? 'Resume' : 'Pause'}
          </button>
        </>
      }
      address={address}
      warning={`Nothing is delivered to ${integration.bucket} any more. What is there stays.`}
      onDeleted={onChanged}
    >
      {status.failure !== null && (
        <span class="field-problem">
          {status.failure.message} Next attempt {time(status.failure.nextTryAt, timezone)}.
        </span>
      )}
      {trial.value !== undefined && (
        <span class={trial.value.ok ? 'quiet' : 'field-problem'} role="status">
          {trial.value.ok ? 'The bucket can be written, read and cleaned up.' : trial.value.message}
        </span>
      )}
      {acting.problem !== undefined && (
        <span class="field-problem" role="alert">
          {acting.problem.message}
        </span>
      )}
    </RecordRow>
  );
}

function NewIntegration({ onCreated }: { readonly onCreated: () => void }) {
  const texts = useSignal({
    name: '',
    bucket: '',
    prefix: '',
    region: '',
    endpoint: '',
    accessKeyId: '',
    secretAccessKey: '',
  });
  const format = useSignal<string>('parquet');
  const pathStyle = useSignal(false);
  const saving = useSaving();
  const create = () =>
    saving.run(async () => {
      const given = Object.fromEntries(Object.entries(texts.value).filter(([, text]) => text !== ''));
      const body = {
        projectId: look.value.site,
        type: 's3',
        format: format.value,
        ...given,
        ...(pathStyle.value && { pathStyle: true }),
      };
      await ask('manage/integrations', { method: 'POST', body });
      texts.value = { ...texts.value, name: '', bucket: '', accessKeyId: '', secretAccessKey: '' };
      onCreated();
    });
  const field = (
    name: keyof typeof texts.value,
    label: string,
    more: { hint?: string; isRequired?: boolean; type?: 'password' } = {},
  ) => (
    <TextField
      label={label}
      name={name}
      value={texts.value[name]}
      problem={saving.problem}
      onInput={(text) => {
        texts.value = { ...texts.value, [name]: text };
      }}
      {...more}
    />
  );
  return (
    <NewRecord
      title="New bucket"
      action="Deliver to it"
      saving={saving}
      onSubmit={create}
      intro={
        <p>Every event that is recorded from now on is delivered in exactly one file, by site and hour.</p>
      }
    >
      {field('bucket', 'Bucket', { isRequired: true })}
      {field('name', 'Name', { hint: 'Empty: that of the bucket.' })}
      {field('prefix', 'Folder', { hint: 'Such as raw/events. Empty: none.' })}
      {field('region', 'Region', { hint: 'Empty: us-east-1.' })}
      {field('endpoint', 'Endpoint', {
        hint: 'For storage that is not AWS, such as https://storage.example:9000.',
      })}
      <SwitchField
        label="The bucket stands in the path of the endpoint"
        isOn={pathStyle.value}
        onSwitch={(isOn) => {
          pathStyle.value = isOn;
        }}
      />
      {field('accessKeyId', 'Access key id', { isRequired: true })}
      {field('secretAccessKey', 'Secret access key', {
        isRequired: true,
        type: 'password',
        hint: 'Stored encrypted, and never shown.',
      })}
      <ChoiceField
        label="Format"
        name="format"
        {...chosen(format)}
        choices={FORMATS}
        problem={saving.problem}
      />
    </NewRecord>
  );
}
