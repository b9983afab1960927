import type { z } from 'zod';
import type { About, Call, EndpointAnswer } from '../http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import {
  answerEntry,
  type ControlRecordKind,
  changeRecord,
  entryOf,
  listOf,
  removeRecord,
  type Stamp,
} from './record-kind.ts';

/** A request about one record. */
export type RecordCall<Body = unknown> = Call<Record<string, never>, Body>;

/** What can be done with one record of a kind: it is shown, changed and removed. */
export interface OneRecord<Value extends Stamp, Change> {
  /** Its path, which ends in its id. */
  readonly pattern: string;
  /** Names the questions in metrics. */
  readonly name: string;
  readonly about: Readonly<Record<'get' | 'patch' | 'delete', Omit<About, 'answer'>>>;
  readonly answer: z.ZodType;
  readonly change: z.ZodType<Change>;
  /** What a change makes of the record; it may be called more than once. */
  readonly changed: (current: Value, call: RecordCall<Change>) => Value;
  /** Removes it where there is more to it. */
  readonly remove?: (call: RecordCall) => Promise<EndpointAnswer>;
}

/** `GET`, `PATCH` and `DELETE` of one record. */
export function oneRecordEndpoints<Value extends Stamp, Change>(
  parts: ManageDeps,
  kind: ControlRecordKind<Value>,
  { pattern, name, about, answer, change, changed, remove }: OneRecord<Value, Change>,
): AnyEndpoint[] {
  const one = { pattern, kind: name, area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...one,
      method: 'get',
      about: { ...about.get, answer },
      body: undefined,
      answer: async (call) => answerEntry(kind, entryOf(kind, call)),
    }),
    anyEndpoint({
      ...one,
      method: 'patch',
      about: { ...about.patch, answer },
      body: change,
      answer: async (call) =>
        answerEntry(kind, await changeRecord(parts, kind, call, (current) => changed(current, call))),
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: { ...about.delete, answer },
      body: undefined,
      answer: (call) => (remove === undefined ? removeRecord(parts, kind, call) : remove(call)),
    }),
  ];
}

/** What is asked of records that belong to the sites of a team, or to the team itself. */
interface OfTeam {
  readonly pattern: string;
  readonly name: string;
  readonly about: About;
  /** May name one of the sites. */
  readonly query: z.ZodType<{ readonly projectId?: string | undefined }>;
}

/** `GET` of all records of a team, or of those of one of its sites. */
export function teamListEndpoint<Value extends Stamp & { readonly projectId: string | null }>(
  parts: ManageDeps,
  kind: ControlRecordKind<Value>,
  { pattern, name, about, query }: OfTeam,
): AnyEndpoint {
  return anyEndpoint({
    method: 'get',
    pattern,
    kind: name,
    area: 'manage',
    about,
    schema: query,
    body: undefined,
    answer: async (call) => {
      const { projectId } = call.parameters;
      const site = projectId === undefined ? undefined : ownSite(parts, call.client, projectId);
      const own = listOf(kind, call).filter((one) => site === undefined || one.projectId === site.id);
      return { json: { data: own.map(kind.shown) } };
    },
  });
}
