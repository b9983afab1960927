import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import type { Dashboard } from './catalog.ts';
import {
  dashboardAnswer,
  dashboardChange,
  dashboardCreation,
  dashboardsAnswer,
  shownRecord,
} from './catalog-api.ts';
import { type ManageDeps, noSuch, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints } from './record-endpoints.ts';
import {
  answerEntry,
  type ControlRecordKind,
  createRecord,
  entryOf,
  listOf,
  ofSiteInPath,
  rejectMoreThan,
  removeRecord,
} from './record-kind.ts';

const ALL = '/manage/projects/:projectId/dashboards';
const DASHBOARDS_MAX = 200;

/** `/manage/projects/{projectId}/dashboards`: collections of reports. */
export function dashboardEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind = dashboardKind(deps);
  const all = { pattern: ALL, kind: 'manage-dashboards', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: {
        summary: 'List dashboards',
        description: 'Returns the dashboards of the site, newest first. A dashboard groups reports.',
        answer: dashboardsAnswer,
      },
      body: undefined,
      answer: async (call) => ({ json: listOf(kind, call).map(kind.shown) }),
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: {
        summary: 'Create a dashboard',
        description: 'Creates an empty dashboard. Maximum: 200 dashboards per site.',
        answer: dashboardAnswer,
      },
      body: dashboardCreation,
      answer: async (call) => {
        const site = ownSite(deps, call.client, call.path.projectId ?? '');
        rejectMoreThan(DASHBOARDS_MAX, 'dashboards of the site', listOf(kind, call));
        const entry = await createRecord(deps, kind.mirror, ({ id, ...times }) => ({
          id,
          projectId: site.id,
          storedId: site.storedId,
          name: call.body.name,
          reportOrder: [],
          ...times,
        }));
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:dashboardId`,
      name: 'manage-dashboard',
      about: {
        get: {
          summary: 'Get a dashboard',
          description: 'The dashboard must belong to the site in the path.',
        },
        patch: {
          summary: 'Rename a dashboard, or arrange its reports',
          description: 'The dashboard must belong to the site in the path.',
        },
        delete: {
          summary: 'Delete a dashboard',
          description: 'Deletes the dashboard and its reports. Returns the deleted dashboard.',
        },
      },
      answer: dashboardAnswer,
      change: dashboardChange,
      changed: (current, { body }) => ({
        ...current,
        name: body.name ?? current.name,
        reportOrder: body.reportOrder?.map((id) => id.toLowerCase()) ?? current.reportOrder,
      }),
      remove: async (call) => {
        const { id } = entryOf(kind, call).value;
        // The dashboard goes first: without it none of its reports is reachable, even if the removal is interrupted.
        const answered = await removeRecord(deps, kind, call);
        await removeReports(deps, id);
        return answered;
      },
    }),
  ];
}

/** The dashboards of the site in the path. */
export function dashboardKind(deps: ManageDeps): ControlRecordKind<Dashboard> {
  return {
    what: 'dashboard',
    mirror: deps.catalog.dashboards,
    belongs: ofSiteInPath(deps),
    shown: shownRecord,
  };
}

async function removeReports({ catalog, records }: ManageDeps, dashboardId: string): Promise<void> {
  const below = [...catalog.reports.entries()].filter(({ value }) => value.dashboardId === dashboardId);
  await Promise.all(
    below.map(async ({ key, value }) => {
      const isGone = noSuch('report', value.id);
      try {
        await records.remove(catalog.reports, key, '', () => isGone);
      } catch (error) {
        if (error !== isGone) throw error;
      }
    }),
  );
}
