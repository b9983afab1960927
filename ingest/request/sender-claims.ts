import type { SiteId } from '../../infra/accounts/ids.ts';
import type { TextRules } from './text-rules.ts';

/** Ids are rejected when too long, never cut: two long ids must not become one. */
export const IDENTITY_MAX = 256;

/** The client that a body names. Texts are empty when absent. */
export interface SenderClaims {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The site, for a client that is not bound to one. */
  readonly projectId: SiteId;
}

/** Reads the client's fields at the top level of a body. */
export function readSenderClaims(body: Readonly<Record<string, unknown>>, rules: TextRules): SenderClaims {
  return {
    clientId: rules.optional(body.clientId, 'clientId', IDENTITY_MAX),
    clientSecret: rules.optional(body.clientSecret, 'clientSecret', IDENTITY_MAX),
    projectId: rules.optional(body.projectId, 'projectId', IDENTITY_MAX),
  };
}
