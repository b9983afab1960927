import type { Integration } from '../../../processor/integration.ts';
import { type AnyEndpoint, anyEndpoint } from '../../http/serve.ts';
import { type EndpointDeps, ownSite } from '../manage.ts';
import { noParameters } from '../parameters.ts';
import { oneRecordEndpoints, teamListEndpoint } from '../record-endpoints.ts';
import { answerEntry, createRecord, listOf, rejectMoreThan } from '../record-kind.ts';
import { integrationActions } from './integration-actions.ts';
import {
  integrationAnswer,
  integrationChange,
  integrationCreation,
  integrationsAnswer,
  integrationsQuery,
} from './integration-api.ts';
import { integrationKind, sealedKey } from './integration-kind.ts';

const ALL = '/manage/integrations';
const ONE = `${ALL}/:integrationId`;
const OF_SITE_MAX = 10;
const OF_TEAM_MAX = 50;

/** `/manage/integrations`: buckets that the events of sites are brought to. */
export function integrationEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const { secretsKey } = deps;
  const kind = integrationKind(deps);
  return [
    teamListEndpoint(deps, kind, {
      pattern: ALL,
      name: 'manage-integrations',
      about: {
        summary: 'The integrations of all sites of the team, or of one, newest first',
        answer: integrationsAnswer,
      },
      query: integrationsQuery,
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-integrations',
      area: 'manage',
      about: {
        summary: 'Have the events of a site brought to a bucket',
        description:
          'Events that are recorded from now on are brought as files by site and hour, each event in exactly one file that a manifest names; those of before by a backfill. The key has to let objects be written; with the rights to list and to remove them, what tries that were broken off leave behind is removed. It is kept encrypted, and its secret never answered. A site has at most 10 integrations, a team 50.',
        answer: integrationAnswer,
      },
      schema: noParameters,
      body: integrationCreation,
      answer: async (call) => {
        const { projectId, secretAccessKey, name, pathStyle, ...given } = call.body;
        const site = ownSite(deps, call.client, projectId);
        const before = listOf(kind, call);
        rejectMoreThan(OF_TEAM_MAX, 'integrations of the team', before);
        const ofSite = before.filter(({ storedId }) => storedId === site.storedId);
        rejectMoreThan(OF_SITE_MAX, 'integrations of the site', ofSite);
        const entry = await createRecord(
          deps,
          kind.mirror,
          ({ id, ...times }): Integration => ({
            ...given,
            id,
            teamId: site.teamId,
            projectId: site.id,
            storedId: site.storedId,
            name: name ?? given.bucket,
            pathStyle: pathStyle ?? hasToBeInPath(given),
            sealed: sealedKey(secretsKey, id, secretAccessKey),
            paused: false,
            backfills: [],
            ...times,
          }),
        );
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: ONE,
      name: 'manage-integration',
      about: {
        get: { summary: 'An integration, and how far its files are' },
        patch: {
          summary: 'Change an integration',
          description:
            'Where its files go and what they are is fixed, so that each event stays in one of them: for another bucket, prefix, endpoint or format make another integration. Another key is given with both of its deps, and tried at once.',
        },
        delete: {
          summary: 'Delete an integration',
          description:
            'No more files are brought, and the key is gone. Files and manifests that are in the bucket stay there. A file that no manifest names was never finished: do not read it.',
        },
      },
      answer: integrationAnswer,
      change: integrationChange,
      changed: (current, { body: { name, region, pathStyle, paused, accessKeyId, secretAccessKey } }) => ({
        ...current,
        name: name ?? current.name,
        region: region ?? current.region,
        pathStyle: pathStyle ?? current.pathStyle,
        paused: paused ?? current.paused,
        accessKeyId: accessKeyId ?? current.accessKeyId,
        sealed:
          secretAccessKey === undefined ? current.sealed : sealedKey(secretsKey, current.id, secretAccessKey),
      }),
    }),
    ...integrationActions(deps, kind, ONE),
  ];
}

/**
 * Whether the bucket's name cannot stand in front of the host: few storages but Amazon's have a host for each bucket, and
 * Amazon's certificate is for names without a dot.
 */
function hasToBeInPath({ endpoint, bucket }: Pick<Integration, 'endpoint' | 'bucket'>): boolean {
  return endpoint !== null || bucket.includes('.');
}
