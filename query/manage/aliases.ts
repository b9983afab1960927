import { z } from 'zod';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { Semaphore, SemaphoreError } from '../../infra/concurrency/semaphore.ts';
import { type Alias, aliasKeyOf, aliasKeysOf, decodeAlias } from '../../ingest/entity-update.ts';
import { ID_MAX_CHARACTERS } from '../../ingest/track-schema.ts';
import { wholeNumber } from '../api.ts';
import { cursorBehindId, type IdCursor, idCursorField } from '../cursor.ts';
import { NEXT_CURSOR } from '../http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { type ManageDeps, noSuch, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';

/** Maximum number of lists read concurrently; each holds all aliases of a site meanwhile. */
const LISTS_MAX = 2;
const LISTS_WAITING_MAX = 20;
const ATTEMPTS_MAX = 20;

/** Selects aliases of a site: all that match each given field. */
export interface AliasFilter {
  readonly profileId?: string | undefined;
  readonly alias?: string | undefined;
  readonly verified?: boolean | undefined;
}

/** An alias as it is returned. */
export const aliasShown = z.object({
  alias: z.string().describe('The id whose events count as those of the profile.'),
  profileId: z.string().describe('The id of the profile, which may be an alias itself.'),
  verified: z
    .boolean()
    .describe('Whether it was made with a client secret. Sending the alias again with a secret verifies it.'),
  createdAt: z.iso.datetime().nullable(),
});
export type AliasShown = z.output<typeof aliasShown>;
export const aliasAnswer = z.object({ data: aliasShown });
export const aliasesAnswer = z.object({ data: z.array(aliasShown) });

const aliasesQuery = z.object({
  profileId: z.string().max(ID_MAX_CHARACTERS).optional().describe('Only aliases of this profile.'),
  alias: z.string().max(ID_MAX_CHARACTERS).optional().describe('Only this alias.'),
  verified: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('Only aliases that were made with a client secret, or only the others.'),
  limit: wholeNumber(1, 1_000).default(100).describe('The most aliases of the answer.'),
  cursor: idCursorField,
});

/** The aliases of a site that match, ordered by alias. */
export async function listAliases(
  bucket: KeyedBytes,
  storedId: StoredId,
  { profileId, alias, verified }: AliasFilter,
): Promise<Alias[]> {
  const keys =
    alias === undefined ? `${aliasKeysOf(storedId)}.*` : aliasKeyOf({ projectId: storedId, alias });
  const found: Alias[] = [];
  for (const { bytes } of await bucket.list(keys)) {
    const known = bytes === undefined ? undefined : decodeAlias(bytes);
    if (known === undefined) continue;
    if (profileId !== undefined && known.profileId !== profileId) continue;
    if (verified === undefined || known.verified === verified) found.push(known);
  }
  return found.sort((a, b) => compare(a.alias, b.alias));
}

/**
 * Undoes an alias: from now on its events count as its own. Returns the former alias; undefined if there is none. Recorded events
 * stay unchanged.
 */
export async function undoAlias(
  bucket: KeyedBytes,
  name: Pick<Alias, 'projectId' | 'alias'>,
): Promise<Alias | undefined> {
  // A longer key would be a subject for which the bus closes the connection.
  if (name.alias.length > ID_MAX_CHARACTERS) return undefined;
  const key = aliasKeyOf(name);
  for (let attempt = 1; ; attempt += 1) {
    const [stored] = await bucket.list(key);
    const known = stored?.bytes === undefined ? undefined : decodeAlias(stored.bytes);
    if (stored === undefined || known === undefined) return undefined;
    try {
      await bucket.remove(key, stored.revision);
      return known;
    } catch (error) {
      const isConflict = error instanceof BusError && error.reason === 'conflict';
      if (!isConflict || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

export function shownAlias({ alias, profileId, verified, createdAt }: Alias): AliasShown {
  return { alias, profileId, verified, createdAt };
}

/** `/manage/projects/{projectId}/aliases`: lists and undoes the aliases of a site. */
export function aliasEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const lists = new Semaphore(LISTS_MAX, LISTS_WAITING_MAX);
  return [
    anyEndpoint({
      method: 'get',
      pattern: '/manage/projects/:projectId/aliases',
      kind: 'manage-aliases',
      area: 'manage',
      about: {
        summary: 'List aliases',
        description:
          'Returns the aliases of the site in pages, ordered by alias; `x-next-cursor` has the cursor of the next page. `verified=false` lists those that were made without a client secret.',
        answer: aliasesAnswer,
      },
      schema: aliasesQuery,
      body: undefined,
      isPaged: true,
      answer: async ({ client, path: { projectId = '' }, parameters: { limit, cursor, ...filter } }) => {
        const { storedId } = ownSite(deps, client, projectId);
        const found = await reachable(() => lists.run(() => listAliases(deps.aliases, storedId, filter)));
        const rest = behind(found, cursor);
        const last = rest.length > limit ? rest[limit - 1] : undefined;
        const json = { data: rest.slice(0, limit).map(shownAlias) };
        return last === undefined ? { json } : { json, headers: [[NEXT_CURSOR, cursorBehindId(last.alias)]] };
      },
    }),
    anyEndpoint({
      method: 'delete',
      pattern: '/manage/projects/:projectId/aliases/:alias',
      kind: 'manage-alias',
      area: 'manage',
      about: {
        summary: 'Undo an alias',
        description:
          'From now on, everywhere within 2 seconds, events of the alias count as its own again. What was recorded stays as it is. Returns the alias that was undone.',
        answer: aliasAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async ({ client, path: { projectId = '', alias = '' } }) => {
        const { storedId } = ownSite(deps, client, projectId);
        const undone = await reachable(() => undoAlias(deps.aliases, { projectId: storedId, alias }));
        if (undone === undefined) throw noSuch('alias', alias);
        return { json: { data: shownAlias(undone) } };
      },
    }),
  ];
}

async function reachable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SemaphoreError)
      throw new RejectError('busy', 'too many lists of aliases at once; try again', error);
    throw error;
  }
}

function behind(found: readonly Alias[], cursor: IdCursor | undefined): readonly Alias[] {
  if (cursor === undefined) return found;
  if (cursor.kind === 'rows') return found.slice(cursor.rows);
  return found.filter(({ alias }) => compare(alias, cursor.id) > 0);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
