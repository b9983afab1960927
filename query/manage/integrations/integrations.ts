import type { Integration } from '../../../processor/integration.ts';
import type { AnyEndpoint } from '../../http/serve.ts';
import type { EndpointDeps } from '../manage.ts';
import { recordEndpoints } from '../record-endpoints.ts';
import { namedSite, siteInBody } from '../record-parents.ts';
import { integrationActions } from './integration-actions.ts';
import {
  integrationAnswer,
  integrationChange,
  integrationCreation,
  integrationsAnswer,
} from './integration-api.ts';
import { integrationKind, sealedKey } from './integration-kind.ts';

const ONE = '/manage/integrations/:integrationId';
const OF_SITE_MAX = 10;
const OF_TEAM_MAX = 50;

/** `/manage/integrations`: deliveries of a site's events to object storage buckets. */
export function integrationEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const { secretsKey } = deps;
  const kind = integrationKind(deps);
  return [
    ...recordEndpoints(deps, {
      ...siteInBody(deps),
      ...kind,
      about: {
        list: {
          summary: 'List integrations',
          description:
            'Returns the integrations of the team, or of one site, newest first. An integration delivers the events of a site to an object storage bucket, as files by site and hour.',
        },
        create: {
          summary: 'Create an integration',
          description:
            'Delivers events recorded from now on to the bucket, as files by site and hour. Each event is in exactly one file named by a manifest. Use a backfill for earlier events. The access key needs write permission; with list and delete permission, leftovers of interrupted attempts are removed. The secret is stored encrypted and never returned. Maximum: 10 integrations per site, 50 per team.',
        },
        get: {
          summary: 'Get an integration',
          description:
            'Returns the settings of the integration and the progress of its delivery in `status`.',
        },
        change: {
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
      answers: { list: integrationsAnswer, one: integrationAnswer },
      creation: integrationCreation,
      change: integrationChange,
      limits: [
        { max: OF_TEAM_MAX, what: 'integrations of the team', isOfTeam: true },
        { max: OF_SITE_MAX, what: 'integrations of the site' },
      ],
      make: ({ body: { projectId: _, secretAccessKey, name, pathStyle, ...given } }, site) => ({
        record: ({ id, ...times }) => ({
          ...given,
          id,
          teamId: site.teamId,
          ...namedSite(site),
          name: name ?? given.bucket,
          pathStyle: pathStyle ?? needsPathStyle(given),
          sealed: sealedKey(secretsKey, id, secretAccessKey),
          paused: false,
          backfills: [],
          ...times,
        }),
      }),
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
