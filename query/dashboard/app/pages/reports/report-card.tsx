import type { ReportDataAnswer } from '../../../../reports/report-api.ts';
import { goOwn, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { PERIODS } from '../../data/periods.ts';
import { useSaving } from '../../data/saving.ts';
import { ask } from '../../data/service.ts';
import { ConfirmButton } from '../../parts/form.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';
import { CHART_TITLES, ReportDrawing } from '../../parts/report-drawing.tsx';

/** A saved report with its drawing. */
export function ReportCard({
  id,
  base,
  isRoot,
  moves,
  onChanged,
}: {
  readonly id: string;
  /** Address of the dashboard's reports in Manage. */
  readonly base: string;
  readonly isRoot: boolean;
  /** Change places with the report before and the one after; undefined where there is none. */
  readonly moves: Readonly<Record<'earlier' | 'later', (() => void) | undefined>>;
  readonly onChanged: () => void;
}) {
  const { answer, error, isLoading, retry } = useAnswer<ReportDataAnswer>(
    `insights/${encodeURIComponent(look.value.site)}/reports/${id}/data`,
  );
  const removing = useSaving();
  const remove = () =>
    removing.run(async () => {
      await ask(`${base}/${id}`, { method: 'DELETE' });
      onChanged();
    });
  const report = answer?.report;
  const period = PERIODS.find(({ range }) => range === report?.range)?.title ?? report?.range ?? '';
  return (
    <section class="card report" aria-label={report?.name ?? 'Report'} data-report={report?.name ?? ''}>
      <header class="card-head">
        <h2>{report?.name}</h2>
        <span class="card-unit">
          {report !== undefined && `${CHART_TITLES[report.chartType]}, ${period.toLowerCase()}`}
        </span>
      </header>
      {isLoading && <Loading rows={6} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && (
        <ReportDrawing chartType={answer.chartType} data={answer.data} interval={answer.report.interval} />
      )}
      {isRoot && (
        <footer class="record-actions report-actions">
          <button type="button" class="plain" onClick={() => goOwn({ report: id })}>
            Change<span class="unseen"> {report?.name}</span>
          </button>
          <button
            type="button"
            class="plain"
            aria-disabled={moves.earlier === undefined}
            onClick={moves.earlier}
          >
            Move up<span class="unseen"> {report?.name}</span>
          </button>
          <button type="button" class="plain" aria-disabled={moves.later === undefined} onClick={moves.later}>
            Move down<span class="unseen"> {report?.name}</span>
          </button>
          <ConfirmButton
            label="Delete"
            warning={`Deletes the report ${report?.name ?? ''}. The events stay.`}
            confirmed="Delete the report"
            saving={removing}
            onConfirm={() => void remove()}
          />
        </footer>
      )}
    </section>
  );
}
