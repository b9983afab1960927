import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Segment } from '../../../../export/chart-fields.ts';
import type { NamesAnswer } from '../../../../insights/vocabulary-api.ts';
import type { ChartType, ReportShown } from '../../../../reports/report-api.ts';
import type { Interval } from '../../../../time/buckets.ts';
import type { RangeName } from '../../../../time/range.ts';
import { look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { FIELDS, isOfEvents } from '../../data/fields.ts';
import { PERIODS } from '../../data/periods.ts';
import {
  ANY_EVENT,
  bodyOf,
  type DraftSeries,
  draftOf,
  NEW_REPORT,
  partsOf,
  questionOfDraft,
  type ReportDraft,
} from '../../data/report-draft.ts';
import { useSaving } from '../../data/saving.ts';
import { addressOf, ask } from '../../data/service.ts';
import { ChoiceField, TextField } from '../../parts/fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Modal } from '../../parts/modal.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';
import { CHART_TITLES, ReportDrawing } from '../../parts/report-drawing.tsx';

const SERIES_MAX = 10;
const INTERVALS = [
  ['hour', 'hour'],
  ['day', 'day'],
  ['week', 'week'],
  ['month', 'month'],
] as const;
const SEGMENTS: readonly (readonly [Segment, string])[] = [
  ['event', 'events'],
  ['user', 'visitors'],
  ['session', 'sessions'],
  ['user_average', 'events per visitor'],
  ['property_sum', 'sum of'],
  ['property_average', 'average of'],
  ['property_max', 'greatest'],
  ['property_min', 'least'],
];

/** Makes a report, or changes one, with a live preview of the choices. */
export function ReportForm({
  base,
  id,
  onClose,
  onSaved,
}: {
  readonly base: string;
  readonly id: string | undefined;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}) {
  const draft = useSignal<ReportDraft | undefined>(id === undefined ? NEW_REPORT : undefined);
  const saving = useSaving();
  useEffect(() => {
    if (id === undefined) return;
    void saving.run(async () => {
      draft.value = draftOf((await ask<{ data: ReportShown }>(`${base}/${id}`)).data);
    });
  }, [id]);
  const { value } = draft;
  const save = (given: ReportDraft) =>
    saving.run(async () => {
      const body = bodyOf(given);
      await ask(id === undefined ? base : `${base}/${id}`, {
        method: id === undefined ? 'POST' : 'PATCH',
        body,
      });
      onSaved();
    });
  return (
    <Modal title={id === undefined ? 'New report' : 'Change the report'} size="large" onClose={onClose}>
      {value === undefined && saving.problem === undefined && <Loading rows={6} />}
      {value === undefined && saving.problem !== undefined && (
        <Failure error={saving.problem} retry={onClose} />
      )}
      {value !== undefined && (
        <div class="report-maker">
          <Form saving={saving} action="Save the report" label="Report" onSubmit={() => void save(value)}>
            <Choices
              draft={value}
              saving={saving}
              onChange={(change) => {
                draft.value = { ...value, ...change };
              }}
            />
          </Form>
          <Preview draft={value} />
        </div>
      )}
    </Modal>
  );
}

function Choices({
  draft,
  saving: { problem },
  onChange,
}: {
  readonly draft: ReportDraft;
  readonly saving: ReturnType<typeof useSaving>;
  readonly onChange: (change: Partial<ReportDraft>) => void;
}) {
  const { name, chartType, range, interval, series, breakdown, formula } = draft;
  const parts = partsOf(chartType);
  const names = useAnswer<NamesAnswer>(
    addressOf(`insights/${encodeURIComponent(look.value.site)}/events/names`, { range: '30d', limit: '200' }),
  );
  const events = [
    ...new Set([ANY_EVENT, ...series.map((one) => one.name), ...(names.answer ?? []).map((one) => one.name)]),
  ];
  const setSeries = (at: number, change: Partial<DraftSeries>) =>
    onChange({ series: series.map((one, index) => (index === at ? { ...one, ...change } : one)) });
  return (
    <>
      <TextField
        label="Name"
        name="name"
        isRequired
        value={name}
        problem={problem}
        onInput={(text) => onChange({ name: text })}
      />
      <ChoiceField
        label="Shown as"
        name="chartType"
        value={chartType}
        choices={Object.entries(CHART_TITLES)}
        problem={problem}
        onChoose={(next) =>
          onChange({ chartType: next as ChartType, breakdown: next === 'map' ? 'country' : breakdown })
        }
      />
      <ChoiceField
        label="Period"
        name="range"
        value={range}
        choices={PERIODS.map((period) => [period.range, period.title])}
        problem={problem}
        onChoose={(next) => onChange({ range: next as RangeName })}
      />
      <ChoiceField
        label="Width of a bucket"
        name="interval"
        value={interval}
        choices={INTERVALS}
        problem={problem}
        onChoose={(next) => onChange({ interval: next as Interval })}
      />
      {parts.series &&
        series.map((one, index) => (
          <fieldset key={index}>
            <legend>
              {parts.segments ? `Series ${String.fromCharCode(65 + index)}` : `Step ${index + 1}`}
            </legend>
            <ChoiceField
              label="Event"
              name={`series.${index}.name`}
              value={one.name}
              choices={events.map((event) => [event, event === ANY_EVENT ? 'every event' : event])}
              problem={problem}
              onChoose={(next) => setSeries(index, { name: next })}
            />
            {parts.segments && (
              <ChoiceField
                label="What is counted"
                name={`series.${index}.segment`}
                value={one.segment}
                choices={SEGMENTS}
                problem={problem}
                onChoose={(next) => setSeries(index, { segment: next as Segment })}
              />
            )}
            {parts.segments && one.segment.startsWith('property_') && (
              <TextField
                label="Property"
                name={`series.${index}.property`}
                hint="revenue, or the key of a property."
                isRequired
                value={one.property}
                problem={problem}
                onInput={(property) => setSeries(index, { property })}
              />
            )}
            {series.length > 1 && (
              <button
                type="button"
                class="plain"
                onClick={() => onChange({ series: series.toSpliced(index, 1) })}
              >
                Remove
              </button>
            )}
          </fieldset>
        ))}
      {parts.series && series.length < SERIES_MAX && (
        <button
          type="button"
          class="button"
          onClick={() =>
            onChange({ series: [...series, { name: ANY_EVENT, segment: 'event', property: '' }] })
          }
        >
          {parts.segments ? 'Another series' : 'Another step'}
        </button>
      )}
      {parts.breakdown && (
        <ChoiceField
          label="Broken down by"
          name="breakdowns"
          value={breakdown}
          choices={[
            ['', 'nothing'],
            ...FIELDS.filter(isOfEvents).map((field) => [field.name, field.title] as const),
          ]}
          problem={problem}
          onChoose={(next) => onChange({ breakdown: next })}
        />
      )}
      {parts.segments && (
        <TextField
          label="Formula"
          name="formula"
          hint="Over the series, such as A / B * 100. Empty: none."
          value={formula}
          problem={problem}
          onInput={(text) => onChange({ formula: text })}
        />
      )}
    </>
  );
}

function Preview({ draft }: { readonly draft: ReportDraft }) {
  const question = questionOfDraft(draft, look.value.site);
  const { answer, error, isLoading, retry } = useAnswer<unknown>(question);
  return (
    <section class="report-preview" aria-label="Preview">
      {question === undefined && <p class="quiet">Choose two steps or more.</p>}
      {isLoading && <Loading rows={6} />}
      {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
      {answer !== undefined && (
        <ReportDrawing chartType={draft.chartType} data={answer} interval={draft.interval} />
      )}
    </section>
  );
}
