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
} from './integration-api.ts';
import { integrationKind, sealedKey } from './integration-kind.ts';

const ALL = '/manage/integrations';
const ONE = `${ALL}/:integrationId`;
const OF_SITE_MAX = 10;
const OF_TEAM_MAX = 50;

/** `/manage/integrations`: deliveries of a site's events to object storage buckets. */
export function integrationEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const { secretsKey } = deps;
  const kind = integrationKind(deps);
  return [
    teamListEndpoint(deps, kind, {
      pattern: ALL,
      name: 'manage-integrations',
      about: {
        summary: 'List integrations',
        description:
          'Returns the integrations of the team, or of one site, newest first. An integration delivers the events of a site to an object storage bucket, as files by site and hour.',
        answer: integrationsAnswer,
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-integrations',
      area: 'manage',
      about: {
        summary: 'Create an integration',
        description:
          'Delivers events recorded from now on to the bucket, as files by site and hour. Each event is in exactly one file named by a manifest. Use a backfill for earlier events. The access key needs write permission; with list and delete permission, leftovers of interrupted attempts are removed. The secret is stored encrypted and never returned. Maximum: 10 integrations per site, 50 per team.',
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
            pathStyle: pathStyle ?? needsPathStyle(given),
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
        get: {
          summary: 'Get an integration',
          description:
            'Returns the settings of the integration and the progress of its delivery in `status`.',
        },
        patch: {
          summary: 'Update an integration',
          description:
            'Given fields replace the stored ones. Site, type, bucket, prefix, endpoint and format are fixed, so that each event stays in one file; create another integration to change them. Send both parts of a new access key together; it is used at once.',
        },
        delete: {
          summary: 'Delete an integration',
          description:
            'Stops delivery and deletes the access key. Files and manifests remain in the bucket. Do not read a file that no manifest names; it is incomplete.',
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
 * True if the bucket name cannot be part of the host name. Few storages besides AWS have a host per bucket, and the certificate
 * of AWS covers only names without a dot.
 */
function needsPathStyle({ endpoint, bucket }: Pick<Integration, 'endpoint' | 'bucket'>): boolean {
  return endpoint !== null || bucket.includes('.');
}
