import type { AnyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { newShareSecret, type Share, shareTokenOf } from '../sign-in/share-record.ts';
import { hashOf } from '../sign-in/sign-in-record.ts';
import type { EndpointDeps } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { type ControlRecordKind, changeRecord, entryOf } from './record-kind.ts';
import { namedSite, siteInBody } from './record-parents.ts';
import {
  SHARES_MAX,
  type ShareChange,
  shareAnswer,
  shareChange,
  shareCreated,
  shareCreation,
  sharesAnswer,
  shownShare,
} from './share-api.ts';
import { hashedPassphrase } from './users.ts';

/** `/manage/shares`: links that show the overview of a site to people without an account. */
export function shareEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const parent = siteInBody(deps);
  const kind: ControlRecordKind<Share> = {
    what: 'share',
    mirror: deps.catalog.shares,
    belongs: parent.belongs,
    shown: shownShare,
  };
  return recordEndpoints(deps, {
    ...parent,
    ...kind,
    about: {
      list: {
        summary: 'List shared links',
        description:
          'Returns the shared links of the team, or of one site, newest first. Tokens and passphrases are never returned.',
      },
      create: {
        summary: 'Create a shared link',
        description: `Whoever has the link sees the overview of the site, and nothing of people: \`GET /shared/{token}\` says what it shows. The answer is the only one with the token. Maximum: ${SHARES_MAX} links per site.`,
      },
      get: { summary: 'Get a shared link', description: 'Tokens and passphrases are never returned.' },
      change: {
        summary: 'Change a shared link',
        description:
          'Given fields replace the stored ones; null removes the passphrase or the end. Another passphrase ends what was opened before.',
      },
      delete: {
        summary: 'Revoke a shared link',
        description:
          'The link, and what was opened by it, ends everywhere within 2 seconds. Returns the deleted link.',
      },
    },
    answers: { list: sharesAnswer, one: shareAnswer, created: shareCreated },
    creation: shareCreation,
    change: shareChange,
    limits: [{ max: SHARES_MAX, what: 'shared links of the site' }],
    make: async ({ client, body }, site) => {
      const secret = newShareSecret();
      const { passphraseHash = null, expiresAt = null } = await endingOf(deps, client.id, body);
      const owned = { teamId: site.teamId, ...namedSite(site), name: body.name, tokenHash: hashOf(secret) };
      return {
        record: (stamp) => ({ ...stamp, ...owned, passphraseHash, expiresAt }),
        secrets: ({ id }) => ({ token: shareTokenOf(id, secret) }),
      };
    },
    update: async (call) => {
      // Rejects an unknown link before the slow work.
      entryOf(kind, call);
      const end = await endingOf(deps, call.client.id, call.body);
      return changeRecord(deps, kind, call, (current) => ({
        ...current,
        name: call.body.name ?? current.name,
        passphraseHash: end.passphraseHash === undefined ? current.passphraseHash : end.passphraseHash,
        expiresAt: end.expiresAt === undefined ? current.expiresAt : end.expiresAt,
      }));
    },
  });
}

/** The passphrase and the end that a request gives, as they are stored; undefined where it gives none. */
async function endingOf(
  { passphrases, clock }: EndpointDeps,
  clientId: string,
  { passphrase, expiresAt }: Pick<ShareChange, 'passphrase' | 'expiresAt'>,
): Promise<{
  readonly passphraseHash: string | null | undefined;
  readonly expiresAt: string | null | undefined;
}> {
  if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= clock.nowMs())
    throw new RejectError('invalid', 'expiresAt: expected a time in the future');
  return {
    passphraseHash:
      typeof passphrase === 'string'
        ? await hashedPassphrase(passphrases, 'links', passphrase, clientId)
        : passphrase,
    expiresAt: typeof expiresAt === 'string' ? new Date(expiresAt).toISOString() : expiresAt,
  };
}
