import type { Entry } from '../../../infra/bus/mirror.ts';
import { unseal } from '../../../infra/sealed.ts';
import { type Connection, connectionKeyOf } from '../../../processor/search-console.ts';
import { type AnyEndpoint, anyEndpoint } from '../../http/serve.ts';
import { RejectError } from '../../reject.ts';
import { type EndpointDeps, type ManageDeps, noSuch, nowText, ownSite } from '../manage.ts';
import { noParameters } from '../parameters.ts';
import { tagged } from '../records.ts';
import { sealedSecret } from '../sealed-secret.ts';
import {
  type Authentication,
  CONNECTION_MAX_BYTES,
  type ConnectionShown,
  connectionAnswer,
  connectionChange,
  lastDayAt,
  ROWS_BODY_MAX_BYTES,
  rowsImport,
  rowsImported,
  type SearchConsoleRow,
  statusAnswer,
} from './gsc-api.ts';
import { importedRows, insertRows } from './gsc-rows.ts';
import { shownSync } from './gsc-status.ts';

const PUT_ATTEMPTS_MAX = 20;
const ONE = '/manage/projects/:projectId/gsc';

/** `/manage/projects/{projectId}/gsc`: the Search Console connection and data of a site. */
export function gscEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const { catalog, records, clock, secretsKey, syncs } = deps;
  const one = { pattern: ONE, kind: 'manage-gsc', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...one,
      method: 'get',
      about: {
        summary: 'Get the Search Console connection',
        description:
          'Returns the connection, the extent of the stored rows, and how far the service is with fetching. Secrets are never returned. State `unreadable`: the secrets were encrypted with a key that is lost; connect the site again.',
        answer: statusAnswer,
      },
      body: undefined,
      answer: async ({ client, path: { projectId = '' } }) => {
        const { storedId } = ownSite(deps, client, projectId);
        const entry = catalog.connections.entry(connectionKeyOf(storedId));
        const imported = await importedRows(deps, storedId);
        const shown = shownConnection(entry, secretsKey);
        const sync = entry && shownSync(entry.value, syncs.get(entry.key), shown.connected);
        const json = { data: { ...shown, ...imported, sync: sync ?? null } };
        return entry === undefined ? { json } : tagged(entry, json);
      },
    }),
    anyEndpoint({
      ...one,
      method: 'put',
      about: {
        summary: 'Connect the Search Console',
        description:
          'Creates or replaces the connection of the site. Secrets are stored encrypted and never returned. The service then fetches rows by date, query and page of type `web`: first the newest days, then 16 months back, a day at a time and the newest first. Once a day, or as its operator sets, it fetches the new days and the last three days again, whose figures settle late. A fetched day that has rows replaces all rows of that day, imported ones included. `GET …/gsc` shows the progress and what fails. Another `siteUrl` begins anew; other credentials for the same one go on where the last ones stopped.',
        answer: connectionAnswer,
      },
      body: connectionChange,
      bodyMaxBytes: CONNECTION_MAX_BYTES,
      answer: async ({ client, path: { projectId = '' }, body: { siteUrl, auth }, ifMatch }) => {
        const site = ownSite(deps, client, projectId);
        const entry = await putConnection(deps, ifMatch, {
          projectId: site.id,
          storedId: site.storedId,
          siteUrl,
          authType: auth.type,
          account: auth.type === 'oauth' ? auth.clientId : auth.clientEmail,
          sealed: sealedSecrets(secretsKey, connectionKeyOf(site.storedId), auth),
          updatedAt: nowText(clock),
        });
        return tagged(entry, { data: shownConnection(entry, secretsKey) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: {
        summary: 'Disconnect the Search Console',
        description:
          'Deletes the connection, its secrets and its progress. Nothing is fetched any more. Rows remain until the site is purged.',
        answer: connectionAnswer,
      },
      body: undefined,
      answer: async ({ client, path: { projectId = '' }, ifMatch }) => {
        const { storedId } = ownSite(deps, client, projectId);
        await records.remove(catalog.connections, connectionKeyOf(storedId), ifMatch, () =>
          noSuch('Search Console connection of', projectId),
        );
        return { json: { data: shownConnection(undefined, secretsKey) } };
      },
    }),
    anyEndpoint({
      ...one,
      method: 'post',
      pattern: `${ONE}/rows`,
      kind: 'manage-gsc-rows',
      about: {
        summary: 'Import Search Console rows',
        description:
          'Imports up to 10,000 rows, all or none, in a body of up to 8 MiB. Returns 200 once the rows are durable. A row replaces an earlier one with the same date, query, page, country and device, so requests can be repeated; two such rows in one request return 400. So do more clicks than impressions, and a day after tomorrow in UTC: the message names the row and the field. Rows are summed: for each day, set country and device in all rows or in none. A connection is not required. Of a connected site, days of the last 16 months that Google has rows for are replaced by what the service fetches.',
        answer: rowsImported,
      },
      body: rowsImport,
      bodyMaxBytes: ROWS_BODY_MAX_BYTES,
      answer: async ({ client, path: { projectId = '' }, body: { rows } }) => {
        const { storedId } = ownSite(deps, client, projectId);
        rejectFuture(rows, clock.nowMs());
        await insertRows(deps, storedId, { rows, importedAtMs: clock.nowMs() });
        return { json: { data: { imported: rows.length } } };
      },
    }),
  ];
}

/** Throws a `RejectError` that names the first row of a day after `lastDayAt`. */
function rejectFuture(rows: readonly SearchConsoleRow[], nowMs: number): void {
  const lastDay = lastDayAt(nowMs);
  const index = rows.findIndex(({ date }) => date > lastDay);
  if (index === -1) return;
  throw new RejectError('invalid', `rows.${index}.date: expected a day up to ${lastDay}, tomorrow in UTC`);
}

/** Creates or replaces a connection; with an `If-Match` only if it names the current one. */
async function putConnection(
  { catalog: { connections }, records }: ManageDeps,
  ifMatch: string,
  connection: Connection,
): Promise<Entry<Connection>> {
  const key = connectionKeyOf(connection.storedId);
  const isGone = new RejectError('changed', 'if-match: no connection exists');
  // Concurrent requests may connect and disconnect the site between the two writes, so this retries.
  for (let tries = 0; tries < PUT_ATTEMPTS_MAX; tries += 1) {
    if (ifMatch === '' && connections.entry(key) === undefined) {
      const made = await records.create(connections, key, connection);
      if (made !== undefined) return made;
    }
    try {
      return await records.change(connections, key, ifMatch, {
        change: () => connection,
        missing: () => isGone,
      });
    } catch (error) {
      if (error !== isGone || ifMatch !== '') throw error;
    }
  }
  throw new RejectError('busy', 'too many concurrent changes; try again');
}

function sealedSecrets(secretsKey: string, recordKey: string, auth: Authentication): string {
  const secrets =
    auth.type === 'oauth'
      ? { clientSecret: auth.clientSecret, refreshToken: auth.refreshToken }
      : { privateKey: auth.privateKey };
  return sealedSecret(secretsKey, recordKey, JSON.stringify(secrets));
}

/** A connection without its secrets. Opening them shows whether they are still readable. */
function shownConnection(entry: Entry<Connection> | undefined, secretsKey: string): ConnectionShown {
  if (entry === undefined)
    return { connected: false, siteUrl: null, authType: null, account: null, state: 'not-connected' };
  const { siteUrl, authType, account, sealed } = entry.value;
  const connected = unseal(secretsKey, entry.key, sealed) !== undefined;
  return { connected, siteUrl, authType, account, state: connected ? 'connected' : 'unreadable' };
}
