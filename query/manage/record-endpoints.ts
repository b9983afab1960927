import type { z } from 'zod';
import type { Entry } from '../../infra/bus/mirror.ts';
import { siteQuery } from '../definitions/record-fields.ts';
import type { About, EndpointAnswer, EndpointCall } from '../http/endpoint.ts';
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

/** A request for one record. */
export type RecordCall<Body = unknown> = EndpointCall<Record<string, never>, Body>;

/** The endpoints of a single record: read, change and delete. */
export interface OneRecord<Value extends Stamp, Change> {
  /** The path, which ends in the id. */
  readonly pattern: string;
  /** The question name in metrics. */
  readonly name: string;
  readonly about: Readonly<Record<'get' | 'patch' | 'delete', Omit<About, 'answer'>>>;
  readonly answer: z.ZodType;
  readonly change: z.ZodType<Change>;
  /** Maximum body of a change; 64 KiB if absent. */
  readonly bodyMaxBytes?: number;
  /** Applies a change to the record; may be called more than once. */
  readonly changed: (current: Value, call: RecordCall<Change>) => Value;
  /** Replaces the default change, which applies `changed`. */
  readonly update?: (call: RecordCall<Change>) => Promise<Entry<Value>>;
  /** Replaces the default removal. */
  readonly remove?: (call: RecordCall) => Promise<EndpointAnswer>;
}

/** `GET`, `PATCH` and `DELETE` of one record. */
export function oneRecordEndpoints<Value extends Stamp, Change>(
  deps: ManageDeps,
  kind: ControlRecordKind<Value>,
  { pattern, name, about, answer, change, changed, update, remove, bodyMaxBytes }: OneRecord<Value, Change>,
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
      ...(bodyMaxBytes === undefined ? {} : { bodyMaxBytes }),
      answer: async (call) => {
        const change = update ?? (() => changeRecord(deps, kind, call, (current) => changed(current, call)));
        return answerEntry(kind, await change(call));
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: { ...about.delete, answer },
      body: undefined,
      answer: (call) => (remove === undefined ? removeRecord(deps, kind, call) : remove(call)),
    }),
  ];
}

/** A list of records that belong to the sites of a team, or to the team itself. */
interface OfTeam {
  readonly pattern: string;
  readonly name: string;
  readonly about: About;
}

/** `GET` of all records of a team, or of one of its sites. */
export function teamListEndpoint<Value extends Stamp & { readonly projectId: string | null }>(
  deps: ManageDeps,
  kind: ControlRecordKind<Value>,
  { pattern, name, about }: OfTeam,
): AnyEndpoint {
  return anyEndpoint({
    method: 'get',
    pattern,
    kind: name,
    area: 'manage',
    about,
    schema: siteQuery,
    body: undefined,
    answer: async (call) => {
      const { projectId } = call.parameters;
      const site = projectId === undefined ? undefined : ownSite(deps, call.client, projectId);
      const own = listOf(kind, call).filter((one) => site === undefined || one.projectId === site.id);
      return { json: { data: own.map(kind.shown) } };
    },
  });
}
