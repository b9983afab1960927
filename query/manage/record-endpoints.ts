import { z } from 'zod';
import type { Entry } from '../../infra/bus/mirror.ts';
import { siteQuery } from '../definitions/record-fields.ts';
import type { About, EndpointAnswer } from '../http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import {
  answerEntry,
  type ControlRecordKind,
  changeRecord,
  createRecord,
  entryOf,
  listOf,
  type RecordCall,
  rejectMoreThan,
  rejectTakenName,
  removeRecord,
  type Stamp,
} from './record-kind.ts';
import type { Parent } from './record-parents.ts';
import { tagged } from './records.ts';
import type { TeamLimit } from './team-limits.ts';

/** A record to create. */
export interface NewRecord<Value extends Stamp> {
  readonly record: (stamp: Stamp) => Value;
  /** A limit that concurrent creations keep exactly. */
  readonly limit?: TeamLimit<Value>;
  /** Fields for the answer of the creation, which no other answer has. */
  readonly secrets?: (made: Value) => object;
}

/** The most records of one owner, or of its team. Concurrent creations may exceed it slightly. */
export interface KindLimit {
  readonly max: number;
  /** Such as `goals of the site`, in the message. */
  readonly what: string;
  readonly isOfTeam?: boolean;
}

/**
 * Describes a kind of record; its five endpoints follow. Their path is the parent's path and the name of the kind with an `s`.
 */
export type ManagedKind<Value extends Stamp, Owner, Creation, Change> = ControlRecordKind<Value> &
  Parent<Value, Owner, Creation> &
  KindEndpoints<Value, Owner, Creation, Change> &
  Changing<Value, Change>;

/** The way to change a record. */
type Changing<Value, Change> =
  | {
      /** Applies a change to the record; may be called more than once. */
      readonly changed: (current: Value, call: RecordCall<Change>) => Value;
      readonly update?: never;
    }
  | {
      /** Changes the record itself, where `changed` is not enough. */
      readonly update: (call: RecordCall<Change>) => Promise<Entry<Value>>;
      readonly changed?: never;
    };

interface KindEndpoints<Value extends Stamp, Owner, Creation, Change> {
  readonly about: Readonly<Record<'list' | 'create' | 'get' | 'change' | 'delete', Omit<About, 'answer'>>>;
  /** A list whose schema is an array is answered without `data`. A creation is answered as `one` unless it has a schema. */
  readonly answers: { readonly list: z.ZodType; readonly one: z.ZodType; readonly created?: z.ZodType };
  readonly creation: z.ZodType<Creation>;
  readonly change: z.ZodType<Change>;
  /** Maximum body of a creation and of a change; 64 KiB if absent. */
  readonly bodyMaxBytes?: number;
  readonly limits: readonly KindLimit[];
  /** The name by which questions refer to a record: unique among the records of the parent. */
  readonly uniqueName?: (value: Value) => string;
  /** Rejects the body of a creation before its owner is looked up. */
  readonly check?: (call: RecordCall<Creation>) => void;
  readonly make: (call: RecordCall<Creation>, owner: Owner) => NewRecord<Value> | Promise<NewRecord<Value>>;
  /** Replaces the default removal. */
  readonly remove?: (call: RecordCall) => Promise<EndpointAnswer>;
}

/** Lists, creates, reads, changes and deletes the records of a kind. */
export function recordEndpoints<Value extends Stamp, Owner, Creation, Change>(
  deps: ManageDeps,
  kind: ManagedKind<Value, Owner, Creation, Change>,
): AnyEndpoint[] {
  const { what, about, answers, bodyMaxBytes, siteOf } = kind;
  const area = 'manage' as const;
  const all = { pattern: `${kind.path}/${what}s`, kind: `manage-${what}s`, area };
  const one = { pattern: `${all.pattern}/:${what}Id`, kind: `manage-${what}`, area, schema: noParameters };
  const bounds = bodyMaxBytes === undefined ? {} : { bodyMaxBytes };
  const inList: z.ZodType<z.output<typeof siteQuery>> = siteOf === undefined ? noParameters : siteQuery;
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: { ...about.list, answer: answers.list },
      schema: inList,
      body: undefined,
      answer: async (call) => {
        const { projectId } = call.parameters;
        const site = projectId === undefined ? undefined : ownSite(deps, call.client, projectId);
        const listed = listOf(kind, call)
          .filter((value) => site === undefined || siteOf?.(value) === site.id)
          .map(kind.shown);
        return { json: answers.list instanceof z.ZodArray ? listed : { data: listed } };
      },
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: { ...about.create, answer: answers.created ?? answers.one },
      schema: noParameters,
      body: kind.creation,
      ...bounds,
      answer: async (call) => {
        kind.check?.(call);
        const owner = kind.owner(call);
        const isCounted = kind.limits.length > 0 || kind.uniqueName !== undefined;
        const ofTeam = isCounted ? listOf(kind, call) : [];
        const before = kind.isOf === undefined ? ofTeam : ofTeam.filter(kind.isOf(owner));
        for (const { max, what, isOfTeam } of kind.limits)
          rejectMoreThan(max, what, isOfTeam ? ofTeam : before);
        const { record, limit, secrets } = await kind.make(call, owner);
        const make = (stamp: Stamp) => withFreeName(kind, record(stamp), () => before);
        const entry = await createRecord(deps, kind.mirror, make, limit);
        if (secrets === undefined) return answerEntry(kind, entry);
        return tagged(entry, { data: { ...kind.shown(entry.value), ...secrets(entry.value) } });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'get',
      about: { ...about.get, answer: answers.one },
      body: undefined,
      answer: async (call) => answerEntry(kind, entryOf(kind, call)),
    }),
    anyEndpoint({
      ...one,
      method: 'patch',
      about: { ...about.change, answer: answers.one },
      body: kind.change,
      ...bounds,
      answer: async (call) => {
        const { changed, update } = kind;
        if (update !== undefined) return answerEntry(kind, await update(call));
        const change = (current: Value) =>
          withFreeName(kind, changed(current, call), () => listOf(kind, call));
        return answerEntry(kind, await changeRecord(deps, kind, call, change));
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: { ...about.delete, answer: answers.one },
      body: undefined,
      answer: (call) => kind.remove?.(call) ?? removeRecord(deps, kind, call),
    }),
  ];
}

/** The value, unless another record has its name. */
function withFreeName<Value extends Stamp>(
  { uniqueName }: { readonly uniqueName?: (value: Value) => string },
  value: Value,
  all: () => readonly Value[],
): Value {
  if (uniqueName === undefined) return value;
  const others = all()
    .filter(({ id }) => id !== value.id)
    .map(uniqueName);
  rejectTakenName(uniqueName(value), others);
  return value;
}
