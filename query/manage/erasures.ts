import { z } from 'zod';
import { type Erasure, profileDigest } from '../../processor/erasure.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { answerEntry, type ControlRecordKind, createRecord, entryOf, listOf } from './record-kind.ts';

const ALL = '/manage/projects/:projectId/erasures';
const instant = z.iso.datetime();

/** A receipt as it is answered. */
export const erasureShown = z.object({
  id: z.uuid(),
  projectId: z.string(),
  status: z.enum(['waiting', 'erasing', 'done']),
  profileDigest: z.string(),
  createdAt: instant,
  updatedAt: instant,
  finishedAt: instant.nullable(),
  rowsRemoved: z.record(z.string(), z.number()),
});
export const erasureAnswer = z.object({ data: erasureShown });
export const erasuresAnswer = z.object({ data: z.array(erasureShown) });

/** What a team is told of the erasing of people: to ask for it, and the receipts. */
export function erasureEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<Erasure> = {
    what: 'erasure',
    mirror: deps.catalog.erasures,
    belongs: ({ client, path }) => {
      const site = ownSite(deps, client, path.projectId ?? '');
      return ({ storedId }) => storedId === site.storedId;
    },
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
          'Removes the visits of the person with all of their events, other events that name the person, what is known of the person, under all names that were declared to be the same one, and its part in sums. The answer is a receipt, which says when it is done: within moments, or minutes where there is much. Whatever the person does from now on is new.',
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
        summary: 'Receipts of the people who were erased, newest first',
        description:
          'A receipt does not name the person: `profileDigest` is the SHA-256, in hexadecimal digits, of the receipt’s id, a line break and the id of the profile.',
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
      about: { summary: 'A receipt', answer: erasureAnswer },
      schema: noParameters,
      body: undefined,
      answer: async (call) => answerEntry(kind, entryOf(kind, call)),
    }),
  ];
}
