import { useSignal } from '@preact/signals';
import type { z } from 'zod';
import type { segmentShown } from '../../../../definitions/definition-records.ts';
import { go, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { fieldTitle, OPERATOR_WORDS } from '../../data/fields.ts';
import { useSaving } from '../../data/saving.ts';
import { ask } from '../../data/service.ts';
import { bound, TextField } from '../../parts/fields.tsx';
import { FilterBar, FilterButton } from '../../parts/filter-bar.tsx';
import { NewRecord, RecordRow, RecordsCard } from '../../parts/records.tsx';

type Segment = z.output<typeof segmentShown>;

/** Sets of filters with a name, which any question takes. A new one is made of the filters that are chosen. */
export function Segments() {
  const base = `manage/projects/${encodeURIComponent(look.value.site)}/segments`;
  const segments = useAnswer<{ readonly data: readonly Segment[] }>(base);
  return (
    <>
      <RecordsCard
        title="Segments"
        label="Segments"
        list={segments}
        empty="No segment yet."
        row={(segment) => <SegmentRow segment={segment} base={base} onChanged={segments.retry} />}
      />
      <NewSegment base={base} onCreated={segments.retry} />
    </>
  );
}

function SegmentRow({
  segment,
  base,
  onChanged,
}: {
  readonly segment: Segment;
  readonly base: string;
  readonly onChanged: () => void;
}) {
  return (
    <RecordRow
      name={segment.name}
      facts={[
        segment.filters
          .map(({ name, operator, value }) =>
            [fieldTitle(name), OPERATOR_WORDS[operator], [value ?? []].flat().join(' or ')].join(' ').trim(),
          )
          .join(', and '),
      ]}
      actions={
        <button
          type="button"
          class="button"
          onClick={() => go({ view: 'overview', filters: [], segment: segment.name, own: {} })}
        >
          Look at it
        </button>
      }
      address={`${base}/${segment.id}`}
      warning={`Questions and reports that name ${segment.name} fail from then on.`}
      onDeleted={onChanged}
    />
  );
}

function NewSegment({ base, onCreated }: { readonly base: string; readonly onCreated: () => void }) {
  const name = useSignal('');
  const saving = useSaving();
  const { filters } = look.value;
  const create = () =>
    saving.run(async () => {
      const body = {
        name: name.value,
        filters: filters.map((filter) => ({
          name: filter.name,
          operator: filter.operator,
          value: filter.values,
        })),
      };
      await ask(base, { method: 'POST', body });
      name.value = '';
      onCreated();
    });
  return (
    <NewRecord
      title="New segment"
      action="Create the segment"
      saving={saving}
      onSubmit={create}
      intro={
        <>
          <p>All of these filters together:</p>
          <div class="toolbar">
            <FilterButton />
          </div>
          <FilterBar />
        </>
      }
    >
      {filters.length > 0 ? (
        <TextField label="Name" name="name" isRequired {...bound(name)} problem={saving.problem} />
      ) : undefined}
    </NewRecord>
  );
}
