import type { Site } from '../../infra/accounts/accounts.ts';
import type { SiteId, StoredId } from '../../infra/accounts/ids.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import type { RecordCall, RecordRequest } from './record-kind.ts';

/** The owner of the records of a kind: a site, a team, or another record. */
export interface Parent<Value, Owner, Creation> {
  /** The path below which the records are. */
  readonly path: string;
  /** See `ControlRecordKind`. */
  readonly belongs: (request: RecordRequest) => (value: Value) => boolean;
  /** Resolves the owner of a new record. Throws a `RejectError` if the client may not access it. */
  readonly owner: (call: RecordCall<Creation>) => Owner;
  /** Records of the owner, where `belongs` accepts others too; they count for its limit. */
  readonly isOf?: (owner: Owner) => (value: Value) => boolean;
  /** The site of a record. If present, a list may name one site. */
  readonly siteOf?: (value: Value) => string | null;
}

/** The site that a record belongs to. */
interface SiteOfRecord {
  readonly projectId: SiteId;
  readonly storedId: StoredId;
}

/** The fields by which a record names its site. */
export function namedSite({ id, storedId }: Site): SiteOfRecord {
  return { projectId: id, storedId };
}

/** Kinds below `/manage/projects/{projectId}`: a record belongs to the site in the path. */
export function siteInPath(deps: ManageDeps): Parent<Pick<SiteOfRecord, 'storedId'>, Site, unknown> {
  const owner = ({ client, path }: RecordRequest) => ownSite(deps, client, path.projectId ?? '');
  return {
    path: '/manage/projects/:projectId',
    belongs: (request) => {
      const site = owner(request);
      return ({ storedId }) => storedId === site.storedId;
    },
    owner,
  };
}

/** Kinds whose paths name no site: the body of a creation does. The record's site exists and belongs to the client's team. */
export function siteInBody(deps: ManageDeps): Parent<SiteOfRecord, Site, { readonly projectId: SiteId }> {
  return {
    path: '/manage',
    belongs:
      ({ client }) =>
      ({ projectId, storedId }) => {
        const site = deps.accounts.site(projectId);
        return site?.storedId === storedId && site.teamId === client.teamId;
      },
    owner: ({ client, body }) => ownSite(deps, client, body.projectId),
    isOf:
      (site) =>
      ({ storedId }) =>
        storedId === site.storedId,
    siteOf: ({ projectId }) => projectId,
  };
}
