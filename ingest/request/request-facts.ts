import { type ClientHeaders, readClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import {
  type AddressClaims,
  readAddressClaims,
  type TrustedProxies,
} from '../../infra/network/client-address.ts';
import { type ClientHints, readClientHints } from '../enrich/user-agent-hints.ts';
import { USER_AGENT_MAX } from '../enrich/user-agent-version.ts';

/** Everything that the head of a collection request says. Texts; empty when absent. */
export interface RequestFacts {
  readonly contentType: string;
  readonly origin: string;
  readonly userAgent: string;
  readonly acceptLanguage: string;
  readonly idempotencyKey: string;
  readonly client: ClientHeaders;
  readonly claims: AddressClaims;
  readonly hints: ClientHints;
}

export function readRequestFacts(head: RequestHead, proxies: TrustedProxies): RequestFacts {
  return {
    contentType: head.header('content-type'),
    origin: head.header('origin'),
    userAgent: head.header('user-agent').slice(0, USER_AGENT_MAX),
    acceptLanguage: head.header('accept-language'),
    idempotencyKey: head.header('idempotency-key'),
    client: readClientHeaders(head),
    claims: readAddressClaims(head, proxies),
    hints: readClientHints(head),
  };
}
