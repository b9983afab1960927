import { useSignal } from '@preact/signals';
import type { ReportListAnswer } from '../../../reports/report-api.ts';
import { goOwn, look } from '../data/address.ts';
import { answerTo, forgetAnswers, useAnswer } from '../data/answers.ts';
import { useSaving } from '../data/saving.ts';
import { addressOf, ask } from '../data/service.ts';
import { signedIn } from '../data/session.ts';
import { bound, TextField } from '../parts/fields.tsx';
import { ConfirmButton, Form } from '../parts/form.tsx';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { ReportCard } from './reports/report-card.tsx';
import { ReportForm } from './reports/report-form.tsx';

interface NamedDashboard {
  readonly id: string;
  readonly name: string;
}

/** Saved reports, by dashboard. Managers of the site make and change them. */
export function Reports() {
  const { site, own } = look.value;
  const isRoot = signedIn.value?.role === 'root';
  const base = `manage/projects/${encodeURIComponent(site)}/dashboards`;
  const kept = useAnswer<readonly NamedDashboard[]>(isRoot ? base : undefined);
  const listAddress = addressOf(`insights/${encodeURIComponent(site)}/reports`, { limit: '1000' });
  const listed = useAnswer<ReportListAnswer>(listAddress);
  const dashboards = isRoot ? kept.answer : listed.answer && dashboardsIn(listed.answer);
  const chosen = dashboards?.find(({ id }) => id === own.dashboard) ?? dashboards?.[0];
  const shown = (listed.answer ?? [])
    .filter(({ dashboardId }) => dashboardId === chosen?.id)
    .sort((a, b) => a.position - b.position);
  const reload = () => {
    kept.retry();
    listed.retry();
  };
  const arranging = useSaving();
  const move = (index: number, by: -1 | 1) => {
    if (arranging.isRunning) return;
    void arranging.run(async () => {
      const reportOrder = shown.map(({ id }) => id);
      reportOrder.splice(index + by, 0, ...reportOrder.splice(index, 1));
      await ask(`${base}/${chosen?.id}`, { method: 'PATCH', body: { reportOrder } });
      // The next move is of the new order.
      await answerTo(listAddress, { isFresh: true });
      listed.retry();
    });
  };
  const error = listed.error ?? kept.error;
  if (dashboards === undefined)
    return error === undefined ? <Loading rows={6} /> : <Failure error={error} retry={reload} />;
  return (
    <div class="page">
      {dashboards.length > 0 && chosen !== undefined && (
        <header class="card-head">
          <Tabs
            label="Dashboards"
            tabs={dashboards.map(({ id, name }) => ({ id, title: name }))}
            chosen={chosen.id}
            panelId="dashboard"
            onChoose={(dashboard) => goOwn({ dashboard, report: undefined })}
          />
          {isRoot && (
            <button
              type="button"
              class="button main"
              onClick={() => goOwn({ dashboard: chosen.id, report: 'new' })}
            >
              New report
            </button>
          )}
        </header>
      )}
      {chosen !== undefined && (
        <div id="dashboard" role="tabpanel" aria-label={chosen.name}>
          {arranging.problem !== undefined && <Failure error={arranging.problem} retry={reload} />}
          {shown.length === 0 && (
            <Empty>{isRoot ? 'No report yet. Make the first one.' : 'This dashboard has no report.'}</Empty>
          )}
          <div class="reports">
            {shown.map(({ id, updatedAt }, index) => (
              <ReportCard
                key={`${id} ${updatedAt}`}
                id={id}
                base={`${base}/${chosen.id}/reports`}
                isRoot={isRoot}
                moves={{
                  earlier: index === 0 ? undefined : () => move(index, -1),
                  later: index === shown.length - 1 ? undefined : () => move(index, 1),
                }}
                onChanged={reload}
              />
            ))}
          </div>
        </div>
      )}
      {dashboards.length === 0 && !isRoot && <Empty>No dashboard has been made for this site.</Empty>}
      {isRoot && <Dashboards base={base} chosen={chosen} onChanged={reload} />}
      {isRoot && chosen !== undefined && own.report !== undefined && (
        <ReportForm
          base={`${base}/${chosen.id}/reports`}
          id={own.report === 'new' ? undefined : own.report}
          onClose={() => goOwn({ report: undefined })}
          onSaved={() => {
            // Answers about the report's previous version are no longer true.
            forgetAnswers();
            goOwn({ report: undefined });
            reload();
          }}
        />
      )}
    </div>
  );
}

/** Makes a dashboard, and removes the chosen one. */
function Dashboards({
  base,
  chosen,
  onChanged,
}: {
  readonly base: string;
  readonly chosen: NamedDashboard | undefined;
  readonly onChanged: () => void;
}) {
  const name = useSignal('');
  const making = useSaving();
  const removing = useSaving();
  const make = () =>
    making.run(async () => {
      const { data } = await ask<{ data: NamedDashboard }>(base, {
        method: 'POST',
        body: { name: name.value },
      });
      name.value = '';
      onChanged();
      goOwn({ dashboard: data.id });
    });
  return (
    <details class="card as-table" open={chosen === undefined}>
      <summary>Dashboards</summary>
      <Form saving={making} action="Make a dashboard" label="New dashboard" onSubmit={() => void make()}>
        <TextField
          label="Name of a new dashboard"
          name="name"
          isRequired
          {...bound(name)}
          problem={making.problem}
        />
      </Form>
      {chosen !== undefined && (
        <ConfirmButton
          label={`Delete ${chosen.name}`}
          warning={`Deletes ${chosen.name} with all of its reports. The events stay. This cannot be undone.`}
          confirmed="Delete the dashboard"
          saving={removing}
          onConfirm={() =>
            void removing.run(async () => {
              await ask(`${base}/${chosen.id}`, { method: 'DELETE' });
              goOwn({ dashboard: undefined });
              onChanged();
            })
          }
        />
      )}
    </details>
  );
}

function dashboardsIn(reports: ReportListAnswer): readonly NamedDashboard[] {
  return [...new Map(reports.map(({ dashboardId, dashboardName }) => [dashboardId, dashboardName]))].map(
    ([id, name]) => ({ id, name }),
  );
}
