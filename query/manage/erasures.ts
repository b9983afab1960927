import { z } from 'zod';
import { type Erasure, profileDigest } from '../../processor/erasure.ts';
import { instant, ofSite } from '../definitions/record-fields.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { type ManageDeps, noSuch, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { answerEntry, type ControlRecordKind, createRecord, entryOf, listOf } from './record-kind.ts';
import { siteInPath } from './record-parents.ts';

const ALL = '/manage/projects/:projectId/erasures';
/** Finished receipts of a team. Every process holds them, and an erasure must not wait for room. */
export const FINISHED_MAX = 10_000;

/** A receipt as it is returned. */
export const erasureShown = z.object({
  ...ofSite,
  status: z
    .enum(['waiting', 'erasing', 'done'])
    .describe('`waiting`: not started. `erasing`: in progress. `done`: completed.'),
  profileDigest: z
    .string()
    .describe(
      'Identifies the erased profile without naming it: the SHA-256 of the receipt id, a line break and the profile id.',
    ),
  finishedAt: instant.nullable().describe('Time of completion, in UTC. Null before.'),
  rowsRemoved: z.record(z.string(), z.number()).describe('Number of rows removed so far, by table.'),
  aliasesErased: z.number().describe('Number of aliases that were erased with the person.'),
  aliasesUndone: z
    .number()
    .describe(
      'Number of aliases between the person and another name that were made without a client secret. They are undone, and what is recorded under the other name stays.',
    ),
});
export const erasureAnswer = z.object({ data: erasureShown });
export const erasuresAnswer = z.object({ data: z.array(erasureShown) });

/** Endpoints to request the erasure of a person and to read the receipts. */
export function erasureEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<Erasure> = {
    what: 'erasure',
    mirror: deps.catalog.erasures,
    belongs: siteInPath(deps).belongs,
    shown: ({ teamId: _team, storedId: _stored, profileId: _person, ...receipt }) => receipt,
  };
  return [
    anyEndpoint({
      method: 'delete',
      pattern: '/manage/projects/:projectId/profiles/:profileId',
      kind: 'manage-profile',
      area: 'manage',
      about: {
        summary: 'Erase a person',
        description:
          'Erases the profile, its sessions with all their events, other events that name it, and its share of rollups. Covers all aliases of the profile that were made with a client secret. An alias that was made without one is undone, and what is recorded under its other name stays: it may be another person, whom a visitor tied to this one. Returns a receipt; poll it until `status` is `done`, usually within seconds, or within minutes for large profiles. Within a minute after that, the service overwrites or removes every file with the erased data; backups, and what was delivered to your buckets or read by programs that follow the feed, are yours to clear. Later events of the same person start a new profile.',
        answer: erasureAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async (call) => {
        const { projectId = '', profileId = '' } = call.path;
        const site = ownSite(deps, call.client, projectId);
        const begun = listOf(kind, call).find(
          (erasure) => erasure.profileId === profileId && erasure.status === 'waiting',
        );
        if (begun !== undefined) return { json: { data: kind.shown(begun) } };
        await removeOldest(deps, site.teamId);
        const entry = await createRecord(
          deps,
          kind.mirror,
          ({ id, ...times }): Erasure => ({
            id,
            teamId: site.teamId,
            projectId: site.id,
            storedId: site.storedId,
            status: 'waiting',
            profileId,
            profileDigest: profileDigest(id, profileId),
            ...times,
            finishedAt: null,
            rowsRemoved: {},
            aliasesErased: 0,
            aliasesUndone: 0,
          }),
        );
        return { json: { data: kind.shown(entry.value) } };
      },
    }),
    anyEndpoint({
      method: 'get',
      pattern: ALL,
      kind: 'manage-erasures',
      area: 'manage',
      about: {
        summary: 'List erasure receipts',
        description: `Returns the receipts of the site, newest first. The last ${FINISHED_MAX.toLocaleString('en')} completed receipts of a team are retained. A completed receipt does not name the profile: \`profileDigest\` is the SHA-256, in hexadecimal digits, of the receipt id, a line break and the profile id.`,
        answer: erasuresAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async (call) => ({ json: { data: listOf(kind, call).map(kind.shown) } }),
    }),
    anyEndpoint({
      method: 'get',
      pattern: `${ALL}/:erasureId`,
      kind: 'manage-erasure',
      area: 'manage',
      about: {
        summary: 'Get an erasure receipt',
        description: 'Returns one erasure receipt of the site.',
        answer: erasureAnswer,
      },
      schema: noParameters,
      body: undefined,
      answer: async (call) => answerEntry(kind, entryOf(kind, call)),
    }),
  ];
}

/** Makes room for a receipt: removes the oldest finished ones of the team. */
export async function removeOldest(
  { catalog: { erasures }, records }: Pick<ManageDeps, 'catalog' | 'records'>,
  teamId: string,
  max = FINISHED_MAX,
): Promise<void> {
  const finished = [...erasures.entries()].filter(
    ({ value }) => value.teamId === teamId && value.status === 'done',
  );
  if (finished.length < max) return;
  const isGone = noSuch('erasure', '');
  finished.sort((a, b) => Date.parse(b.value.createdAt) - Date.parse(a.value.createdAt));
  for (const { key } of finished.slice(max - 1)) {
    try {
      await records.remove(erasures, key, '', () => isGone);
    } catch (error) {
      if (error !== isGone) throw error;
    }
  }
}
