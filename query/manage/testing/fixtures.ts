import { storedId } from '../../../infra/testing/ids.ts';
import { ALIASES_BUCKET, aliasKeyOf, encodeAlias } from '../../../ingest/entity-update.ts';
import { goalAnswer, segmentAnswer } from '../../definitions/definition-records.ts';
import { dashboardAnswer, referenceAnswer, reportAnswer } from '../catalog-api.ts';
import { erasureAnswer } from '../erasures.ts';
import { connectionAnswer } from '../gsc/gsc-api.ts';
import { integrationAnswer } from '../integrations/integration-api.ts';
import { shareCreated } from '../share-api.ts';
import { userAnswer } from '../user-api.ts';
import type { ClientKey, ManageService } from './manage-service.ts';

/** Search Console credentials; every secret part contains the word "secret". */
export const OAUTH = {
  type: 'oauth',
  clientId: 'client.apps.example',
  clientSecret: 'secret-of-client',
  refreshToken: 'secret-to-refresh',
} as const;

/** A bucket whose address the service does not connect to. */
export const BUCKET = {
  type: 's3',
  bucket: 'shop-events',
  endpoint: 'http://127.0.0.1:1',
  accessKeyId: 'key-of-bucket',
  secretAccessKey: 'secret-of-bucket',
} as const;

/** The ids of one site and of its records, by parameter name. */
export interface SiteIds {
  readonly projectId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly shareId: string;
  readonly referenceId: string;
  readonly dashboardId: string;
  readonly reportId: string;
  readonly segmentId: string;
  readonly goalId: string;
  readonly erasureId: string;
  readonly alias: string;
  readonly integrationId: string;
}

export interface SiteWithAll {
  readonly ids: SiteIds;
  /** The client of `clientId`. */
  readonly read: ClientKey;
  readonly write: ClientKey;
}

/** A site with one record of every kind. */
export async function makeSiteWithAll(
  service: ManageService,
  key: ClientKey,
  name: string,
): Promise<SiteWithAll> {
  const { id: projectId, write } = await service.makeSite(key, name);
  const read = await service.makeClient(key, { type: 'read', projectId });
  const { data: user } = await service.read(userAnswer, key, 'POST', '/manage/users', {
    body: {
      name: 'Ada',
      email: `ada-${projectId}@shop.example`,
      role: 'read',
      sites: [projectId],
      passphrase: 'a passphrase of a secret kind',
    },
  });
  const { data: share } = await service.read(shareCreated, key, 'POST', '/manage/shares', {
    body: { projectId, name: 'For the agency' },
  });
  const reference = { projectId, title: 'Launch', date: '2026-03-01' };
  const dashboards = `/manage/projects/${projectId}/dashboards`;
  const { data: referenceMade } = await service.read(referenceAnswer, key, 'POST', '/manage/references', {
    body: reference,
  });
  const { data: dashboard } = await service.read(dashboardAnswer, key, 'POST', dashboards, {
    body: { name: 'Overview' },
  });
  const { data: report } = await service.read(
    reportAnswer,
    key,
    'POST',
    `${dashboards}/${dashboard.id}/reports`,
    { body: { name: 'Views', series: [{ name: 'screen_view' }] } },
  );
  const { data: segment } = await service.read(
    segmentAnswer,
    key,
    'POST',
    `/manage/projects/${projectId}/segments`,
    { body: { name: 'Germany', filters: [{ name: 'country', operator: 'is', value: ['DE'] }] } },
  );
  const { data: goal } = await service.read(goalAnswer, key, 'POST', `/manage/projects/${projectId}/goals`, {
    body: { name: 'Sign-up', type: 'event', event: 'sign_up' },
  });
  const erasing = `/manage/projects/${projectId}/profiles/erased`;
  const { data: erasure } = await service.read(erasureAnswer, key, 'DELETE', erasing);
  const alias = `anonymous/${name}`;
  const record = { projectId: storedId(projectId), alias, profileId: 'ada', verified: true, createdAt: null };
  await (await service.bus.keyed(ALIASES_BUCKET)).put(aliasKeyOf(record), encodeAlias(record), 0);
  const connection = { siteUrl: 'sc-domain:site.example', auth: OAUTH };
  await service.read(connectionAnswer, key, 'PUT', `/manage/projects/${projectId}/gsc`, { body: connection });
  const { data: integration } = await service.read(integrationAnswer, key, 'POST', '/manage/integrations', {
    body: { projectId, ...BUCKET },
  });
  const ids = {
    projectId,
    clientId: read.id,
    userId: user.id,
    shareId: share.id,
    referenceId: referenceMade.id,
    dashboardId: dashboard.id,
    reportId: report.id,
    segmentId: segment.id,
    goalId: goal.id,
    erasureId: erasure.id,
    alias,
    integrationId: integration.id,
  };
  return { ids, read, write };
}
