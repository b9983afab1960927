import type { Endpoint, ScopeOf } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { Requester } from '../snapshot/requester.ts';
import { type LiveTokenQuery, liveTokenAnswer, liveTokenQuery } from './live-api.ts';
import type { LiveTokens } from './live-tokens.ts';

/** `GET /insights/{projectId}/live/token`: a token for a browser, which must not have a secret. */
export function liveTokenEndpoint(scopeOf: ScopeOf, tokens: LiveTokens): Endpoint<LiveTokenQuery, undefined> {
  return {
    method: 'get',
    pattern: '/insights/:projectId/live/token',
    kind: 'live-token',
    area: 'insights',
    about: {
      summary: 'A token to see live visitors in a browser',
      description:
        'The token shows the live visitors of this site below `/live/{projectId}`, as the parameter `token`, until it expires; with `wall=true` also the referrers of now and the visitors of today, for the wall page. It gives access to nothing else. It is signed and not stored. It ends early when the site is deleted, and when the client that asked for it is deleted, expires, loses the scope `insights` or gets another secret; a list of addresses of the client does not apply to it. 503 where the setting `SECRETS_KEY` is empty.',
      answer: liveTokenAnswer,
    },
    schema: liveTokenQuery,
    body: undefined,
    answer: async ({ client, path: { projectId = '' }, parameters: { ttl, wall } }) => {
      if (client.proof !== undefined && client.proof.kind !== 'client')
        throw new RejectError('forbidden', 'only a client gets tokens; a signed-in browser needs none');
      const stages = Requester.current?.stages;
      const json = tokens.issue(scopeOf(client, projectId).site, client, {
        ttlMs: ttl * 1_000,
        isWhole: wall,
      });
      return stages === undefined ? { json } : { json, stages };
    },
  };
}
