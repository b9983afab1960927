import { type Site, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import type { Entry } from '../../infra/bus/mirror.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { newClient } from './clients.ts';
import { type ManageDeps, newestFirst, noSuch, nowText, ownSite, ownSiteOrDeleted } from './manage.ts';
import { noFields, noParameters } from './parameters.ts';
import {
  CHANGE_MAX_BYTES,
  CREATION_MAX_BYTES,
  type ProjectChange,
  type ProjectCreation,
  projectAnswer,
  projectChange,
  projectCreated,
  projectCreation,
  projectDeletion,
  projectOf,
  projectRestored,
  projectsAnswer,
  projectsQuery,
  type UndoneDeletion,
} from './project-api.ts';
import { tagged } from './records.ts';
import { deletedSite, restoredSite, shownDeletion } from './site-deletion.ts';
import { reusedStoredId, slugOf, slugsFor } from './slug.ts';
import { clientLimit, createWithin, rejectAtLimit, siteLimit } from './team-limits.ts';

const ONE = '/manage/projects/:projectId';

/** `/manage/projects`: the sites of a team. */
export function projectEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const { accounts, records, clock } = deps;
  const one = { pattern: ONE, kind: 'manage-project', area: 'manage' as const };
  const shown = (site: Site) => projectOf(site, clock.nowMs());
  return [
    anyEndpoint({
      method: 'get',
      pattern: '/manage/projects',
      kind: 'manage-projects',
      area: 'manage',
      about: {
        summary: 'List sites',
        description:
          'Returns the sites of the team, newest first. With `deleted=true` returns its deleted sites instead, the last deleted one first: those with `deletion.restorable` can be restored, the others are being purged or are purged.',
        answer: projectsAnswer,
      },
      schema: projectsQuery,
      body: undefined,
      answer: async ({ client, parameters: { deleted } }) => {
        const own = [...accounts.sites.entries()]
          .map(({ value }) => value)
          .filter((site) => site.teamId === client.teamId && (site.deletion !== null) === deleted);
        const sites = deleted ? lastDeletedFirst(own) : newestFirst(own);
        return { json: { data: sites.map(shown) } };
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: '/manage/projects',
      kind: 'manage-projects',
      area: 'manage',
      about: {
        summary: 'Create a site',
        description:
          'Creates a site and a write client for it. The site id is a slug of the name; a further site of the team with this name gets a number, and one whose slug another team has a random end. The client secret is returned only here. Returns 409 if the team has 1,000 sites, or as many as `SITES_PER_TEAM_MAX` of the installation allows; a deleted site counts until it is purged.',
        answer: projectCreated,
      },
      schema: noParameters,
      body: projectCreation,
      bodyMaxBytes: CREATION_MAX_BYTES,
      answer: async ({ client, body }) => {
        rejectAtLimit(clientLimit(deps, client.teamId));
        const { site, undo } = await newSite(deps, client.teamId, body);
        const { entry, secret } = await firstClient(deps, site.value, undo);
        const first = { id: entry.value.id, type: entry.value.type, secret };
        return tagged(site, { data: { ...shown(site.value), client: first } });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'get',
      about: {
        summary: 'Get a site',
        description:
          'Also returns a deleted site. `deletion` then states whether it can be restored, for how many seconds, and the progress of its purge.',
        answer: projectAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async ({ client, path: { projectId = '' } }) => {
        const { id } = ownSiteOrDeleted(deps, client, projectId);
        const entry = accounts.sites.entry(siteKeyOf(id));
        if (entry === undefined) throw noSuch('project', projectId);
        return tagged(entry, { data: shown(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'patch',
      about: {
        summary: 'Update a site',
        description:
          'Given fields replace the stored ones; within `filters`, given lists do. Takes effect everywhere within 2 seconds.',
        answer: projectAnswer,
      },
      schema: noParameters,
      body: projectChange,
      bodyMaxBytes: CHANGE_MAX_BYTES,
      answer: async ({ client, path: { projectId = '' }, body, ifMatch }) => {
        const { id } = ownSite(deps, client, projectId);
        const entry = await records.change(accounts.sites, siteKeyOf(id), ifMatch, {
          change: (site) => {
            if (site.deletion !== null) throw noSuch('project', projectId);
            return changedSite(site, body, nowText(clock));
          },
          missing: () => noSuch('project', projectId),
        });
        return tagged(entry, { data: shown(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: {
        summary: 'Delete a site',
        description:
          'Hides the site with its records and clients, and rejects its events at once. Purges all its data after 24 hours. Until the purge begins, the deletion can be undone with `POST …/restore`; `deletion.remainingSeconds` is the time left. With `now=true` the purge begins at once and the deletion cannot be undone. Repeat the request with `now=true` to bring a scheduled purge forward. Within a minute after `deletion.status` is `purged`, no file of the service contains the data of the site any more, except for the record of its deletion; what was delivered to your buckets stays there.',
        answer: projectAnswer,
      },
      schema: projectDeletion,
      body: undefined,
      answer: async ({ client, path: { projectId = '' }, parameters: { now }, ifMatch }) => {
        const { id } = ownSiteOrDeleted(deps, client, projectId);
        const entry = await records.change(accounts.sites, siteKeyOf(id), ifMatch, {
          change: (site) => deletedSite(site, clock.nowMs(), now),
          mayExceed: true,
          missing: () => noSuch('project', projectId),
        });
        return tagged(entry, { data: shown(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'post',
      pattern: `${ONE}/restore`,
      kind: 'manage-project-restore',
      about: {
        summary: 'Restore a deleted site',
        description:
          'Undoes the deletion of a site: its settings, data, clients, dashboards, references, segments, goals and integrations are as before, everywhere within 2 seconds. Events sent in between were rejected and are not recorded. Returns the site, and in `restored` the deletion that was undone with the seconds that were left. Returns 409 if the site is not deleted, if it was deleted with `now=true`, or once its purge has begun. The next deletion again leaves 24 hours. The body is empty, or an object without fields.',
        answer: projectRestored,
      },
      schema: noParameters,
      body: noFields,
      isBodyOptional: true,
      answer: async ({ client, path: { projectId = '' }, ifMatch }) => {
        const { entry, undone } = await restoreSite(
          deps,
          ownSiteOrDeleted(deps, client, projectId).id,
          ifMatch,
        );
        return tagged(entry, { data: { ...shown(entry.value), restored: undone } });
      },
    }),
  ];
}

/** Undoes a deletion; returns the site, and the deletion as it was. Throws a `RejectError` if it cannot be undone. */
export async function restoreSite(
  { accounts, records, clock }: ManageDeps,
  id: string,
  ifMatch = '',
): Promise<{ readonly entry: Entry<Site>; readonly undone: UndoneDeletion }> {
  let undone: UndoneDeletion | undefined;
  const entry = await records.change(accounts.sites, siteKeyOf(id), ifMatch, {
    change: (site) => {
      const restored = restoredSite(site, clock.nowMs());
      if (site.deletion !== null) {
        const { requestedAt, purgeAt, remainingSeconds } = shownDeletion(site.deletion, clock.nowMs());
        undone = { requestedAt, purgeAt, remainingSeconds };
      }
      return restored;
    },
    missing: () => noSuch('project', id),
  });
  if (undone === undefined) throw new Error('a site without deletion was restored');
  return { entry, undone };
}

interface CreatedSite {
  readonly site: Entry<Site>;
  /** Reverts the creation. */
  readonly undo: () => Promise<unknown>;
}

/**
 * Creates a site under the first free id. The id of a purged site is free. Throws a `RejectError` if the team has too many
 * sites.
 */
async function newSite(deps: ManageDeps, teamId: string, body: ProjectCreation): Promise<CreatedSite> {
  const { accounts, records, clock } = deps;
  const at = nowText(clock);
  const { domain = null, cors = domain === null ? [] : [domain], ...settings } = body;
  const fields = { teamId, ...settings, domain, cors, createdAt: at, updatedAt: at };
  const limit = siteLimit(deps, teamId);
  const isOthers = (id: string) => {
    const site = accounts.sites.get(siteKeyOf(id));
    return site !== undefined && site.teamId !== teamId && site.deletion?.status !== 'purged';
  };
  for (const id of slugsFor(slugOf(body.name), isOthers)) {
    const key = siteKeyOf(id);
    const before = accounts.sites.entry(key);
    if (before !== undefined && before.value.deletion?.status !== 'purged') continue;
    const storedId = before === undefined ? '' : reusedStoredId(before.value);
    const value = siteSchema.parse({ ...fields, id, storedId });
    const create = () =>
      before === undefined
        ? records.create(accounts.sites, key, value)
        : records.replace(accounts.sites, before, value);
    const undo = (made: Entry<Site>) =>
      before === undefined
        ? records.remove(accounts.sites, key, `"${made.revision}"`, () => noSuch('project', id))
        : records.restore(accounts.sites, before, made.revision);
    const site = await createWithin(limit, key, { create, undo });
    if (site !== undefined) return { site, undo: () => undo(site) };
  }
  throw new RejectError('invalid', 'name: too many sites have this name');
}

/** The write client that comes with a site; without it the site is not created either. */
async function firstClient(deps: ManageDeps, site: Site, undo: CreatedSite['undo']) {
  try {
    const name = `${site.name} write client`.slice(0, 100);
    return await newClient(deps, site.teamId, { name, type: 'write', site });
  } catch (error) {
    if (error instanceof RejectError) await undo();
    throw error;
  }
}

/** Applies a change to a site. */
function changedSite(site: Site, change: ProjectChange, updatedAt: string): Site {
  const { filters, ...given } = withoutUndefined(change);
  const next: Record<string, unknown> = { ...site, updatedAt };
  const tracking: Record<string, unknown> = { ...site.tracking };
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(tracking, name)) tracking[name] = value;
    else next[name] = value;
  }
  return siteSchema.parse({
    ...next,
    tracking,
    filters: { ...site.filters, ...withoutUndefined(filters ?? {}) },
  });
}

function lastDeletedFirst(sites: readonly Site[]): Site[] {
  const deletedAt = ({ deletion }: Site) => deletion?.requestedAt ?? '';
  return newestFirst(sites).sort((a, b) =>
    deletedAt(a) < deletedAt(b) ? 1 : deletedAt(a) > deletedAt(b) ? -1 : 0,
  );
}

function withoutUndefined<Given extends object>(given: Given): Given {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
}
