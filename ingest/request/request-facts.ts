import { type ClientHeaders, readClientHeaders } from '../../infra/accounts/client-auth.ts';
import { cutText } from '../../infra/http/cut-text.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import {
  type AddressClaims,
  readAddressClaims,
  type TrustedProxies,
} from '../../infra/network/client-address.ts';
import { type ClientHints, readClientHints } from '../enrich/user-agent-hints.ts';
import { USER_AGENT_MAX } from '../enrich/user-agent-version.ts';

/** Only the first language is read, see `Locales`. */
const ACCEPT_LANGUAGE_MAX = 256;

/** All facts in the head of a collection request. Texts; empty when absent. */
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
    userAgent: cutText(head.header('user-agent'), USER_AGENT_MAX),
    acceptLanguage: cutText(head.header('accept-language'), ACCEPT_LANGUAGE_MAX),
    idempotencyKey: head.header('idempotency-key'),
    client: readClientHeaders(head),
    claims: readAddressClaims(head, proxies),
    hints: readClientHints(head),
  };
}
