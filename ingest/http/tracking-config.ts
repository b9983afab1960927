import type { Accounts } from '../../infra/accounts/accounts.ts';
import { longQuery } from '../../infra/http/head-limits.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer } from '../../infra/http/http.ts';
import { COLLECTION_CORS } from './routes.ts';

const UUID =
  /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12})$/i;

interface ConfigRequest {
  readonly clientId: string;
  /** The problem of the query string, which is not read then. */
  readonly problem: string | undefined;
}

/** `GET /config/tracking?clientId=`: the data that the browser script may collect by itself. Needs no secret. */
export function addTrackingConfigRoute(
  http: HttpServer,
  accounts: Accounts,
  headers: HeaderList,
  prefix: string,
): void {
  const cached: HeaderList = [...headers, ['cache-control', 'max-age=60']];
  http.route<ConfigRequest>({
    method: 'get',
    pattern: `${prefix}/config/tracking`,
    bodyMaxBytes: 0,
    cors: COLLECTION_CORS,
    readHead: ({ query }) => {
      const problem = longQuery(query);
      return {
        problem,
        clientId: problem === undefined ? (new URLSearchParams(query).get('clientId') ?? '') : '',
      };
    },
    answer: ({ clientId, problem }, _bytes, reply) => {
      if (problem !== undefined) {
        reply.json(400, JSON.stringify({ error: problem }), headers);
        return;
      }
      if (!UUID.test(clientId)) {
        reply.json(400, '{"error":"clientId: expected a UUID"}', headers);
        return;
      }
      const projectId = accounts.client(clientId.toLowerCase())?.projectId;
      const site = typeof projectId === 'string' ? accounts.site(projectId) : undefined;
      if (site === undefined) reply.json(404, '{"error":"clientId: there is no such client"}', headers);
      else reply.json(200, JSON.stringify(site.tracking), cached);
    },
  });
}
