import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { newShareSecret, type Share, shareTokenOf } from '../sign-in/share-record.ts';
import { hashOf } from '../sign-in/sign-in-record.ts';
import { type EndpointDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints, teamListEndpoint } from './record-endpoints.ts';
import {
  type ControlRecordKind,
  changeRecord,
  createRecord,
  entryOf,
  listOf,
  ofTeamSite,
  rejectMoreThan,
} from './record-kind.ts';
import { tagged } from './records.ts';
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

const ALL = '/manage/shares';

/** `/manage/shares`: links that show the overview of a site to people without an account. */
export function shareEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<Share> = {
    what: 'share',
    mirror: deps.catalog.shares,
    belongs: ofTeamSite(deps),
    shown: shownShare,
  };
  return [
    teamListEndpoint(deps, kind, {
      pattern: ALL,
      name: 'manage-shares',
      about: {
        summary: 'List shared links',
        description:
          'Returns the shared links of the team, or of one site, newest first. Tokens and passphrases are never returned.',
        answer: sharesAnswer,
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-shares',
      area: 'manage',
      about: {
        summary: 'Create a shared link',
        description: `Whoever has the link sees the overview of the site, and nothing of people: \`GET /shared/{token}\` says what it shows. The answer is the only one with the token. Maximum: ${SHARES_MAX} links per site.`,
        answer: shareCreated,
      },
      schema: noParameters,
      body: shareCreation,
      answer: async (call) => {
        const { client, body } = call;
        const { id: projectId, storedId, teamId } = ownSite(deps, client, body.projectId);
        const before = listOf(kind, call).filter((share) => share.storedId === storedId);
        rejectMoreThan(SHARES_MAX, 'shared links of the site', before);
        const secret = newShareSecret();
        const end = await endingOf(deps, client.id, body);
        const entry = await createRecord(deps, kind.mirror, (stamp) => ({
          ...stamp,
          ...{ teamId, projectId, storedId, name: body.name, tokenHash: hashOf(secret) },
          passphraseHash: end.passphraseHash ?? null,
          expiresAt: end.expiresAt ?? null,
        }));
        const token = shareTokenOf(entry.value.id, secret);
        return tagged(entry, { data: { ...shownShare(entry.value), token } });
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:shareId`,
      name: 'manage-share',
      about: {
        get: { summary: 'Get a shared link', description: 'Tokens and passphrases are never returned.' },
        patch: {
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
      answer: shareAnswer,
      change: shareChange,
      changed: (current, { body }) => ({ ...current, name: body.name ?? current.name }),
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
    }),
  ];
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
