import type { Store } from '../../../infra/store/store.ts';

/** The sessions of a site that are noted as having lost events to an erasure. */
export async function thinnedSessions(store: Store, projectId: string): Promise<readonly string[]> {
  const sql = 'SELECT lower(hex(id)) AS id FROM thinned_sessions FINAL WHERE projectId = {projectId:String}';
  return (await store.query<{ id: string }>(sql, { projectId })).map(({ id }) => id);
}

/** The sessions whose counts differ from their events in the store. */
export async function sessionsUnlikeTheirEvents(store: Store, projectId: string): Promise<readonly string[]> {
  const sql = `
    SELECT lower(hex(id)) AS id FROM
    (
      SELECT id, sum(sign * (screenViews + otherEvents)) AS counted FROM sessions
      WHERE projectId = {projectId:String} GROUP BY id HAVING sum(sign) > 0
    ) AS sessions
    LEFT JOIN
    (
      SELECT sessionId AS id, countIf(name NOT LIKE 'session_%') AS found FROM events
      WHERE projectId = {projectId:String} GROUP BY id
    ) AS events USING (id)
    WHERE counted != found`;
  return (await store.query<{ id: string }>(sql, { projectId })).map(({ id }) => id);
}
