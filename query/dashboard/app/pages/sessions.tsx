import type { ListedSession } from '../../../insights/session-list-api.ts';
import { look } from '../data/address.ts';
import { questionOf } from '../data/questions.ts';
import { useRows } from '../data/rows.ts';
import { Empty, Failure, Loading } from '../parts/notice.tsx';
import { SessionRows } from '../parts/session-rows.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const PAGE = '50';

/** The sessions of the period, newest first. */
export function Sessions() {
  const { rows, error, more, retry } = useRows<ListedSession>(
    questionOf(look.value, 'sessions', { limit: PAGE }),
  );
  return (
    <>
      <ViewTools />
      <section class="card" aria-label="Sessions">
        {rows === undefined && error === undefined && <Loading rows={10} />}
        {rows === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {rows?.length === 0 && <Empty>No session began in this period.</Empty>}
        <SessionRows rows={rows ?? []} more={more} />
      </section>
    </>
  );
}
