import { type Site, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { newClient } from './clients.ts';
import { type ManageDeps, newestFirst, noSuch, nowText, ownSite, ownSiteOrDeleted } from './manage.ts';
import { noParameters } from './parameters.ts';
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
  projectsAnswer,
} from './project-api.ts';
import { tagged } from './records.ts';
import { reusedStoredId, slugOf, slugsFor } from './slug.ts';

const ONE = '/manage/projects/:projectId';
/** The delay between the deletion of a site and its purge. */
const PURGE_AFTER_MS = 86_400_000;

/** `/manage/projects`: the sites of a team. */
export function projectEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const { accounts, records, clock } = deps;
  const one = { pattern: ONE, kind: 'manage-project', area: 'manage' as const };
  return [
    anyEndpoint({
      method: 'get',
      pattern: '/manage/projects',
      kind: 'manage-projects',
      area: 'manage',
      about: { summary: 'List sites', answer: projectsAnswer },
      schema: noParameters,
      body: undefined,
      answer: async ({ client }) => {
        const own = [...accounts.sites.entries()]
          .map(({ value }) => value)
          .filter((site) => site.teamId === client.teamId && site.deletion === null);
        return { json: { data: newestFirst(own).map(projectOf) } };
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
          'Creates a site and a write client for it. The site id is a slug of the name. The client secret is returned only here.',
        answer: projectCreated,
      },
      schema: noParameters,
      body: projectCreation,
      bodyMaxBytes: CREATION_MAX_BYTES,
      answer: async ({ client, body }) => {
        const site = await newSite(deps, client.teamId, body);
        const { entry, secret } = await newClient(deps, client.teamId, {
          name: `${site.value.name} write client`.slice(0, 100),
          type: 'write',
          site: site.value,
        });
        const first = { id: entry.value.id, type: entry.value.type, secret };
        return tagged(site, { data: { ...projectOf(site.value), client: first } });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'get',
      about: {
        summary: 'Get a site',
        description: 'Also returns a deleted site, with the progress of its purge in `deletion`.',
        answer: projectAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async ({ client, path: { projectId = '' } }) => {
        const { id } = ownSiteOrDeleted(deps, client, projectId);
        const entry = accounts.sites.entry(siteKeyOf(id));
        if (entry === undefined) throw noSuch('project', projectId);
        return tagged(entry, { data: projectOf(entry.value) });
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
        return tagged(entry, { data: projectOf(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: {
        summary: 'Delete a site',
        description:
          'Hides the site and rejects its events at once. Purges all its data after 24 hours, or at once with `now=true`. Repeat the request with `now=true` to bring a scheduled purge forward.',
        answer: projectAnswer,
      },
      schema: projectDeletion,
      body: undefined,
      answer: async ({ client, path: { projectId = '' }, parameters: { now }, ifMatch }) => {
        const { id } = ownSiteOrDeleted(deps, client, projectId);
        const entry = await records.change(accounts.sites, siteKeyOf(id), ifMatch, {
          change: (site) => deletedSite(site, clock.nowMs(), now),
          missing: () => noSuch('project', projectId),
        });
        return tagged(entry, { data: projectOf(entry.value) });
      },
    }),
  ];
}

/** Creates a site under the first free id. The id of a purged site is free. */
async function newSite({ accounts, records, clock }: ManageDeps, teamId: string, body: ProjectCreation) {
  const at = nowText(clock);
  const { name, domain = null, cors, timezone, currency, types } = body;
  const fields = {
    teamId,
    name,
    domain,
    cors: cors ?? (domain === null ? [] : [domain]),
    timezone,
    currency,
    types,
    createdAt: at,
    updatedAt: at,
  };
  for (const id of slugsFor(slugOf(name))) {
    const before = accounts.sites.entry(siteKeyOf(id));
    if (before === undefined) {
      const made = await records.create(accounts.sites, siteKeyOf(id), siteSchema.parse({ ...fields, id }));
      if (made !== undefined) return made;
    } else if (before.value.deletion?.status === 'purged') {
      const storedId = reusedStoredId(before.value);
      const fresh = siteSchema.parse({ ...fields, id, storedId });
      const made = await records.replace(accounts.sites, before, fresh);
      if (made !== undefined) return made;
    }
  }
  throw new RejectError('invalid', 'name: too many sites have this name');
}

/** Applies a change to a site. */
function changedSite(site: Site, change: ProjectChange, updatedAt: string): Site {
  const { filters, ...given } = withoutUndefined(change);
  const next: Record<string, unknown> = { ...site, updatedAt };
  const tracking: Record<string, unknown> = { ...site.tracking };
  for (const [name, value] of Object.entries(given)) {
    if (name in tracking) tracking[name] = value;
    else next[name] = value;
  }
  return siteSchema.parse({
    ...next,
    tracking,
    filters: { ...site.filters, ...withoutUndefined(filters ?? {}) },
  });
}

/** A repeated deletion can only bring the purge forward. */
function deletedSite(site: Site, nowMs: number, now: boolean): Site {
  const at = new Date(nowMs).toISOString();
  const purgeAt = now ? at : new Date(nowMs + PURGE_AFTER_MS).toISOString();
  const { deletion } = site;
  if (deletion === null) {
    const fresh = { status: 'waiting' as const, requestedAt: at, purgeAt };
    return siteSchema.parse({ ...site, updatedAt: at, deletion: fresh });
  }
  if (!now || deletion.status !== 'waiting' || deletion.purgeAt <= at) return site;
  return { ...site, updatedAt: at, deletion: { ...deletion, purgeAt: at } };
}

function withoutUndefined<Given extends object>(given: Given): Given {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
}
