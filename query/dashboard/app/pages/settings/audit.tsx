import type { z } from 'zod';
import type { AuditEntryShown, auditAnswer } from '../../../../manage/audit-api.ts';
import { goOwn, look } from '../../data/address.ts';
import { useAnswer } from '../../data/answers.ts';
import { NONE, time } from '../../data/format.ts';
import { addressOf } from '../../data/service.ts';
import { site } from '../../data/session.ts';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Tabs } from '../../parts/tabs.tsx';

const LISTS = [
  { id: 'done', title: 'Done' },
  { id: 'rejected', title: 'Rejected' },
] as const;
const PAGE = '50';

/** Changes and their authors, and rejected attempts. */
export function Audit() {
  const { action = '', rejected, cursor } = look.value.own;
  const isRejected = rejected === 'true';
  const { answer, error, isLoading, retry } = useAnswer<z.output<typeof auditAnswer>>(
    addressOf('manage/audit', {
      limit: PAGE,
      action: action === '' ? undefined : action,
      rejected: isRejected ? 'true' : undefined,
      cursor,
    }),
  );
  const { timezone = 'UTC' } = site.value ?? {};
  return (
    <section class="card" aria-labelledby="audit-title">
      <header class="card-head">
        <h2 id="audit-title">Audit log</h2>
        <Tabs
          label="Which actions"
          tabs={LISTS}
          chosen={isRejected ? 'rejected' : 'done'}
          panelId="audit"
          onChoose={(id) => goOwn({ rejected: id === 'rejected' ? 'true' : undefined, cursor: undefined })}
        />
      </header>
      <div id="audit" role="tabpanel" aria-label={isRejected ? 'Rejected' : 'Done'}>
        <div class="list-tools">
          <SearchField
            label="Action, such as rotate or DELETE"
            value={action}
            onSearch={(text) => goOwn({ action: text, cursor: undefined }, { replace: true })}
          />
        </div>
        {isLoading && <Loading rows={10} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer?.data.length === 0 && <Empty>No action matches.</Empty>}
        {answer !== undefined && answer.data.length > 0 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard.
          <section class="table-scroll" tabIndex={0} aria-label="Actions">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Who</th>
                  <th scope="col">What</th>
                  <th scope="col">Fields</th>
                  <th scope="col" class="number">
                    Answer
                  </th>
                </tr>
              </thead>
              <tbody>
                {answer.data.map((entry) => (
                  <tr key={entry.id}>
                    <td>{time(entry.at, timezone)}</td>
                    <td>{actorOf(entry)}</td>
                    <td>{entry.action}</td>
                    <td>{entry.fields.join(', ')}</td>
                    <td class="number">{entry.status ?? NONE}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
        <p class="record-actions">
          {cursor !== undefined && (
            <button type="button" class="button" onClick={() => goOwn({ cursor: undefined })}>
              Newest
            </button>
          )}
          {answer?.nextCursor && (
            <button
              type="button"
              class="button"
              onClick={() => goOwn({ cursor: answer.nextCursor ?? undefined })}
            >
              Older
            </button>
          )}
        </p>
      </div>
    </section>
  );
}

function actorOf({ actor, clientName, clientId, userName, userId }: AuditEntryShown): string {
  if (actor === 'admin') return 'a command on the machine';
  return userName ?? userId ?? clientName ?? clientId ?? actor;
}
