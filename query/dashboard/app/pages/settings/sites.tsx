import { useSignal } from '@preact/signals';
import type { ProjectShown } from '../../../../manage/project-api.ts';
import { go, UNFILTERED } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { duration, time } from '../../data/format.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { reloadSession } from '../../data/session.ts';
import { bound, TextField } from '../../parts/fields.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

interface SiteList {
  readonly data: readonly ProjectShown[];
}

/** The sites of the team: a new one, and those that are deleted, as long as they can come back. */
export function Sites() {
  const sites = useAnswer<SiteList>('manage/projects');
  const deleted = useAnswer<SiteList>(addressOf('manage/projects', { deleted: 'true' }));
  const reload = async () => {
    await reloadSession();
    sites.retry();
    deleted.retry();
  };
  return (
    <>
      <RecordsCard
        title="Sites"
        label="Sites"
        list={sites}
        records={sites.answer?.data.filter(({ deletion }) => deletion === null)}
        row={(site) => <SiteRow site={site} onChanged={reload} />}
      />
      <NewSite onCreated={reload} />
      {(deleted.answer?.data.length ?? 0) > 0 && (
        <section class="card" aria-labelledby="deleted-title">
          <h2 id="deleted-title">Deleted</h2>
          <ul class="records" aria-label="Deleted sites">
            {deleted.answer?.data.map((site) => (
              <li key={site.id}>
                <DeletedSite site={site} onRestored={reload} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function SiteRow({
  site,
  onChanged,
}: {
  readonly site: ProjectShown;
  readonly onChanged: () => Promise<void>;
}) {
  return (
    <RecordRow
      name={site.name}
      facts={[site.domain ?? site.id, site.timezone, site.currency]}
      actions={
        <button
          type="button"
          class="button"
          onClick={() => go({ site: site.id, ...UNFILTERED, own: { section: 'site' } })}
        >
          Settings
        </button>
      }
      address={`manage/projects/${encodeURIComponent(site.id)}`}
      warning={`${site.name} stops recording at once and is not shown any more. Its data is removed after a day; until then it can be restored here.`}
      onDeleted={onChanged}
    />
  );
}

function NewSite({ onCreated }: { readonly onCreated: () => Promise<void> }) {
  const name = useSignal('');
  const domain = useSignal('');
  const timezone = useSignal(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const saving = useSaving();
  const create = () =>
    saving.run(async () => {
      const body = {
        name: name.value,
        timezone: timezone.value,
        ...(domain.value !== '' && { domain: domain.value }),
      };
      const { data } = await ask<{ data: { id: string } }>('manage/projects', { method: 'POST', body });
      await onCreated();
      go({ site: data.id, view: 'installation', ...UNFILTERED, own: {} });
    });
  return (
    <NewRecord title="New site" action="Create the site" saving={saving} onSubmit={create}>
      <TextField label="Name" name="name" isRequired {...bound(name)} problem={saving.problem} />
      <TextField
        label="Domain"
        name="domain"
        hint="Browsers may then send from its pages."
        {...bound(domain)}
        problem={saving.problem}
      />
      <TextField
        label="Time zone"
        name="timezone"
        suggestions={Intl.supportedValuesOf('timeZone')}
        {...bound(timezone)}
        problem={saving.problem}
      />
    </NewRecord>
  );
}

function DeletedSite({
  site,
  onRestored,
}: {
  readonly site: ProjectShown;
  readonly onRestored: () => Promise<void>;
}) {
  const saving = useSaving();
  const { deletion } = site;
  if (deletion === null) return null;
  const restore = () =>
    saving.run(async () => {
      await ask(`manage/projects/${encodeURIComponent(site.id)}/restore`, { method: 'POST' });
      await onRestored();
    });
  return (
    <div class="record">
      <span class="record-name">
        <strong>{site.name}</strong>
        <span class="quiet">
          {deletion.restorable
            ? `removed for good in ${duration(deletion.remainingSeconds)}, at ${time(deletion.purgeAt, site.timezone)}`
            : deletion.status === 'purged'
              ? 'removed'
              : 'is being removed'}
        </span>
        {saving.problem !== undefined && (
          <span class="field-problem" role="alert">
            {saving.problem.message}
          </span>
        )}
      </span>
      {deletion.restorable && (
        <button type="button" class="button" disabled={saving.isRunning} onClick={() => void restore()}>
          Restore
        </button>
      )}
    </div>
  );
}
