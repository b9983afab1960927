import type { ListedSession } from '../../../../insights/session-list-api.ts';
import { useRows } from '../../data/rows.ts';
import { addressOf } from '../../data/service.ts';
import { Empty, Failure, Loading } from '../../parts/notice.tsx';
import { SessionRows } from '../../parts/session-rows.tsx';

const PAGE = '20';

/** The sessions of one person, newest first. */
export function PersonSessions({ base }: { readonly base: string }) {
  const { rows, error, more, retry } = useRows<ListedSession>(addressOf(`${base}/sessions`, { limit: PAGE }));
  if (rows === undefined)
    return error === undefined ? <Loading rows={5} /> : <Failure error={error} retry={retry} />;
  if (rows.length === 0) return <Empty>No session is kept.</Empty>;
  return <SessionRows rows={rows} more={more} hasVisitor={false} />;
}
