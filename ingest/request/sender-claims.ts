import type { TextRules } from './text-rules.ts';

/** Identities are refused rather than cut: two long ones must not become one. */
export const IDENTITY_MAX = 256;

/** Who a body says that it comes from. Texts are empty when absent. */
export interface SenderClaims {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The site, for a client that is not bound to one. */
  readonly projectId: string;
}

/** Reads what stands at the top of a body beside its type. */
export function readSenderClaims(body: Readonly<Record<string, unknown>>, rules: TextRules): SenderClaims {
  return {
    clientId: rules.optional(body.clientId, 'clientId', IDENTITY_MAX),
    clientSecret: rules.optional(body.clientSecret, 'clientSecret', IDENTITY_MAX),
    projectId: rules.optional(body.projectId, 'projectId', IDENTITY_MAX),
  };
}
