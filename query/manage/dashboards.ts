import type { AnyEndpoint } from '../http/serve.ts';
import type { Dashboard } from './catalog.ts';
import {
  dashboardAnswer,
  dashboardChange,
  dashboardCreation,
  dashboardsAnswer,
  shownRecord,
} from './catalog-api.ts';
import { type ManageDeps, noSuch } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { type ControlRecordKind, entryOf, removeRecord } from './record-kind.ts';
import { namedSite, siteInPath } from './record-parents.ts';

const DASHBOARDS_MAX = 200;

/** `/manage/projects/{projectId}/dashboards`: collections of reports. */
export function dashboardEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind = dashboardKind(deps);
  return recordEndpoints(deps, {
    ...siteInPath(deps),
    ...kind,
    about: {
      list: {
        summary: 'List dashboards',
        description: 'Returns the dashboards of the site, newest first. A dashboard groups reports.',
      },
      create: {
        summary: 'Create a dashboard',
        description: 'Creates an empty dashboard. Maximum: 200 dashboards per site.',
      },
      get: { summary: 'Get a dashboard', description: 'The dashboard must belong to the site in the path.' },
      change: {
        summary: 'Rename a dashboard, or arrange its reports',
        description: 'The dashboard must belong to the site in the path.',
      },
      delete: {
        summary: 'Delete a dashboard',
        description: 'Deletes the dashboard and its reports. Returns the deleted dashboard.',
      },
    },
    answers: { list: dashboardsAnswer, one: dashboardAnswer },
    creation: dashboardCreation,
    change: dashboardChange,
    limits: [{ max: DASHBOARDS_MAX, what: 'dashboards of the site' }],
    make: ({ body: { name } }, site) => ({
      record: ({ id, ...times }) => ({ id, ...namedSite(site), name, reportOrder: [], ...times }),
    }),
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
  });
}

/** The dashboards of the site in the path. */
export function dashboardKind(deps: ManageDeps): ControlRecordKind<Dashboard> {
  return {
    what: 'dashboard',
    mirror: deps.catalog.dashboards,
    belongs: siteInPath(deps).belongs,
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
